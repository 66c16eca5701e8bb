// On which processor a thread runs, and where it may be woken. Linux likes to wake a helper on the processor of the
// thread that wakes it, and moves it to an idle one only milliseconds later: until then the two take turns.
#pragma once
#include <string>
#include <thread>

#ifdef __linux__
#include <pthread.h>
#include <sched.h>

namespace fwk {

inline int this_place() { return sched_getcpu(); }

// The processors that a thread may run on; none if the system does not say.
class Places {
   public:
    static Places of_this_thread() {
        Places places;
        if (pthread_getaffinity_np(pthread_self(), sizeof places.set_, &places.set_) != 0) CPU_ZERO(&places.set_);
        return places;
    }
    Places without(int place) const {
        Places others = *this;
        if (place >= 0 && place < CPU_SETSIZE) CPU_CLR(place, &others.set_);
        return others;
    }
    // Sets them, unless there are none.
    void give(std::thread::native_handle_type thread) const {
        if (CPU_COUNT(&set_) > 0) pthread_setaffinity_np(thread, sizeof set_, &set_);
    }
    void give_this_thread() const { give(pthread_self()); }
    // What tells them from others.
    std::string bytes() const { return {reinterpret_cast<const char*>(&set_), sizeof set_}; }

   private:
    cpu_set_t set_;
};

}  // namespace fwk
#else
namespace fwk {

inline int this_place() { return -1; }

struct Places {
    static Places of_this_thread() { return {}; }
    Places without(int) const { return {}; }
    void give(std::thread::native_handle_type) const {}
    void give_this_thread() const {}
    std::string bytes() const { return {}; }
};

}  // namespace fwk
#endif
