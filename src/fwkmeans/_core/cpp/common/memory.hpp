// Memory that a thread keeps from call to call: fresh pages cost more than what a pass over a small
// table does with them.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace fwk {

// Some bytes, aligned to 64 and not set to anything; they go back to the thread that ends their
// use.
class ThreadMemory {
   public:
    explicit ThreadMemory(std::size_t bytes) {
        // the smallest that is large enough: others may be wanted before this one is back
        auto& spare = spare_pieces();
        std::size_t best = spare.size();
        for (std::size_t i = 0; i < spare.size(); ++i)
            if (spare[i].bytes >= bytes &&
                (best == spare.size() || spare[i].bytes < spare[best].bytes))
                best = i;
        if (best < spare.size()) {
            own_ = std::move(spare[best]);
            spare.erase(spare.begin() + std::ptrdiff_t(best));
            return;
        }
        own_ = {std::unique_ptr<char[]>(new char[bytes + 64]), bytes};
    }
    ThreadMemory(const ThreadMemory&) = delete;
    ThreadMemory& operator=(const ThreadMemory&) = delete;
    ~ThreadMemory() {
        auto& spare = spare_pieces();
        if (own_.bytes > LARGEST_SPARE) return;
        if (spare.size() == MOST_SPARE) spare.erase(spare.begin());
        spare.push_back(std::move(own_));
    }
    char* data() const {
        const auto address = reinterpret_cast<std::uintptr_t>(own_.memory.get());
        return own_.memory.get() + (64 - address % 64) % 64;
    }

   private:
    static constexpr std::size_t LARGEST_SPARE = std::size_t(8) << 20, MOST_SPARE = 3;
    struct Piece {
        std::unique_ptr<char[]> memory;
        std::size_t bytes = 0;
    };
    static std::vector<Piece>& spare_pieces() {
        static thread_local std::vector<Piece> pieces = [] {
            std::vector<Piece> none;
            none.reserve(MOST_SPARE);  // so that giving back cannot throw
            return none;
        }();
        return pieces;
    }
    Piece own_;
};

}  // namespace fwk
