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
class Lent {
   public:
    explicit Lent(std::size_t bytes) {
        // the smallest that is large enough: others may be wanted before this one is back
        std::size_t best = kept().size();
        for (std::size_t i = 0; i < kept().size(); ++i)
            if (kept()[i].bytes >= bytes &&
                (best == kept().size() || kept()[i].bytes < kept()[best].bytes))
                best = i;
        if (best < kept().size()) {
            own_ = std::move(kept()[best]);
            kept().erase(kept().begin() + std::ptrdiff_t(best));
            return;
        }
        own_ = {std::unique_ptr<char[]>(new char[bytes + 64]), bytes};
    }
    Lent(const Lent&) = delete;
    Lent& operator=(const Lent&) = delete;
    ~Lent() {
        if (own_.bytes > MOST) return;
        if (kept().size() == PIECES) kept().erase(kept().begin());
        kept().push_back(std::move(own_));
    }
    char* data() const {
        const auto address = reinterpret_cast<std::uintptr_t>(own_.memory.get());
        return reinterpret_cast<char*>((address + 63) / 64 * 64);
    }

   private:
    static constexpr std::size_t MOST = std::size_t(8) << 20, PIECES = 3;
    struct Piece {
        std::unique_ptr<char[]> memory;
        std::size_t bytes = 0;
    };
    static std::vector<Piece>& kept() {
        static thread_local std::vector<Piece> pieces = [] {
            std::vector<Piece> none;
            none.reserve(PIECES);  // so that giving back cannot throw
            return none;
        }();
        return pieces;
    }
    Piece own_;
};

}  // namespace fwk
