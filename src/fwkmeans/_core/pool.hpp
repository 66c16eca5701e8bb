// A thread pool of the process: tasks are taken one by one, so that a busy neighbor costs one task
// and not a share of all. No OpenMP: libgomp breaks in forked children, clashes with other copies in
// the process and collapses when a core is contended (benchmarks/bench_contention.py).
#pragma once
#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

#include "places.hpp"

#ifdef _WIN32  // no fork there
namespace fwk {
using ProcessId = int;
inline ProcessId this_process() { return 1; }
inline void call_around_fork(void (*)(), void (*)()) {}
}  // namespace fwk
#else
#include <pthread.h>
#include <unistd.h>
namespace fwk {
using ProcessId = pid_t;
inline ProcessId this_process() { return getpid(); }
inline void call_around_fork(void (*before)(), void (*after)()) {
    pthread_atfork(before, after, after);
}
}  // namespace fwk
#endif

namespace fwk {

class Pool {
   public:
    // The pool of this process; a forked child gets a new one (the parent's threads are not there).
    static Pool& of_this_process() {
        static std::mutex guard;
        static Pool* pool = nullptr;
        static ProcessId owner = 0;
        static std::once_flag hooked;
        std::call_once(hooked, call_around_fork, [] { guard.lock(); }, [] { guard.unlock(); });
        const std::lock_guard<std::mutex> lock(guard);
        if (!pool || owner != this_process()) {
            pool = new Pool;  // never freed: a thread may still be about to end
            owner = this_process();
        }
        return *pool;
    }

    // body(task, worker) for every task, on at most n_threads threads of which the caller is number
    // 0; worker < n_threads. If the system gives no more threads, those there are do the work; they
    // end when they were idle for a while. A second caller at the same time does its tasks alone.
    void run(std::ptrdiff_t n_tasks, int n_threads, const std::function<void(std::ptrdiff_t, int)>& body) {
        std::unique_lock<std::mutex> alone(one_caller_, std::try_to_lock);
        const std::ptrdiff_t useful = n_threads < n_tasks ? n_threads : n_tasks;
        if (useful <= 1 || !alone.owns_lock() || Clock::now() < alone_until_) {
            for (std::ptrdiff_t task = 0; task < n_tasks; ++task) body(task, 0);
            return;
        }
        {
            const std::lock_guard<std::mutex> lock(mutex_);
            call(int(useful) - 1);
            body_ = &body;
            n_tasks_ = n_tasks;
            next_.store(0, std::memory_order_relaxed);
            wanted_ = int(useful) - 1;
            busy_ = 0;
        }
        wake_.notify_all();
        const auto begin = Clock::now();
        work(body, n_tasks, 0);
        const auto end = Clock::now();
        std::unique_lock<std::mutex> lock(mutex_);
        wanted_ = 0;  // workers that have not woken yet are not needed any more
        lock.unlock();
        linger([this] { return busy_.load(std::memory_order_relaxed) == 0; }, 0);
        lock.lock();
        done_.wait(lock, [this] { return busy_ == 0; });
        body_ = nullptr;
        // others keep a helper from working: for as long again it is not waited for
        const auto now = Clock::now();
        if (now - end > std::max<Clock::duration>(patience_, end - begin)) alone_until_ = now + (now - end);
    }

    // Wakes helpers before there is work for them, and lets them stay awake between tasks that follow soon, until
    // `dismiss`. False if another caller has them already.
    bool attend(int n_helpers) { return rouse(n_helpers, attending_); }
    void dismiss() { attending_ = 0; }
    // Wakes helpers for a caller that will `attend` soon; they wait for it a while, unless they are called off.
    void beckon(int n_helpers) { rouse(n_helpers, beckoned_); }
    void call_off() { beckoned_ = 0; }

   private:
    using Clock = std::chrono::steady_clock;

    // Wakes helpers and counts them as `expecting` a call. False if another caller has them already.
    bool rouse(int n_helpers, std::atomic<int>& expecting) {
        {
            const std::lock_guard<std::mutex> lock(mutex_);
            if (attending_ > 0) return false;
            if (std::find(asleep_.begin(), asleep_.end(), true) != asleep_.end()) {  // they wake up beside the caller
                allowed_ = Places::of_this_thread();
                const Places others = allowed_.without(this_place());
                for (int i = 0; i < std::min(n_workers_, n_helpers); ++i)
                    if (asleep_[i]) others.give(threads_[i]);  // it takes that back when it is awake
            }
            call(n_helpers);
            beckoned_ = 0;
            expecting = n_helpers;
        }
        wake_.notify_all();
        return true;
    }
    // Helpers that stay awake, or were told to expect a call.
    int n_awake() const { return std::max(attending_.load(), beckoned_.load()); }

    // Waits a moment without going to sleep: to be woken takes longer than a pass over a small table.
    template <class Condition>
    void linger(Condition condition, int worker) const {
        const auto begin = Clock::now();
        const auto waited = [begin] { return Clock::now() - begin; };
        const bool helps = worker > 0;
        while (!condition() && waited() < (helps && worker <= n_awake() ? attentive_ : moment_)) {
            if (helps && caller_place_ >= 0 && this_place() == caller_place_) return;  // the caller waits for it
            for (int i = 0; i < 16 && !condition(); ++i) relax();
        }
    }
    static void relax() {
#if defined(__x86_64__) || defined(_M_X64)
        __builtin_ia32_pause();
#elif defined(__aarch64__)
        __asm__ volatile("yield");
#endif
    }

    void work(const std::function<void(std::ptrdiff_t, int)>& body, std::ptrdiff_t n_tasks, int worker) {
        for (;;) {
            const std::ptrdiff_t task = next_.fetch_add(1, std::memory_order_relaxed);
            if (task >= n_tasks) return;
            body(task, worker);
        }
    }

    // Has so many workers if it can, and tells them that there is something to do; mutex_ is locked.
    void call(int n_helpers) {
        caller_place_ = this_place();
        while (n_workers_ < n_helpers && start_worker()) continue;
        ++news_;
    }

    // Start the next worker, if the system has a thread for it; mutex_ is locked.
    bool start_worker() {
        const int worker = n_workers_ + 1;
        try {
            threads_.resize(n_workers_ + 1);
            asleep_.resize(n_workers_ + 1);
            std::thread thread([this, worker] { serve(worker); });
            threads_[n_workers_] = thread.native_handle();
            thread.detach();
        } catch (const std::system_error&) {
            return false;
        }
        n_workers_ = worker;
        return true;
    }

    void serve(int worker) {
        unsigned long seen = 0;
        std::unique_lock<std::mutex> lock(mutex_);
        for (;;) {
            const auto asked = [&] { return news_ != seen && worker <= std::max(wanted_, n_awake()); };
            const bool sleeps = !asked();
            if (sleeps) {
                if (worker == 1) beckoned_ = 0;  // nobody has called for so long
                asleep_[worker - 1] = true;
                const bool woken = wake_.wait_for(lock, idle_, asked);
                asleep_[worker - 1] = false;
                if (!woken) {
                    if (worker < n_workers_) continue;  // the last one ends first
                    --n_workers_;
                    return;
                }
            }
            seen = news_;
            const bool works = worker <= wanted_;
            busy_ += works;
            const auto* body = body_;
            const std::ptrdiff_t n_tasks = n_tasks_;
            const Places allowed = allowed_;
            lock.unlock();
            if (sleeps) allowed.give_this_thread();
            if (works) {
                work(*body, n_tasks, worker);
                lock.lock();
                if (--busy_ == 0) done_.notify_one();
                lock.unlock();
            }
            linger([&] { return news_.load(std::memory_order_relaxed) != seen; }, worker);
            lock.lock();
        }
    }

    static constexpr std::chrono::milliseconds idle_{1000};
    static constexpr std::chrono::microseconds moment_{50}, attentive_{300}, patience_{300};
    std::mutex one_caller_, mutex_;
    Clock::time_point alone_until_{};  // changed by the one caller
    std::condition_variable wake_, done_;
    const std::function<void(std::ptrdiff_t, int)>* body_ = nullptr;
    std::ptrdiff_t n_tasks_ = 0;
    std::atomic<std::ptrdiff_t> next_{0};
    int n_workers_ = 0, wanted_ = 0;
    std::vector<std::thread::native_handle_type> threads_;  // of the workers
    std::vector<char> asleep_;                              // which of them
    Places allowed_ = Places::of_this_thread();  // where the last caller may run, and its helpers
    std::atomic<int> caller_place_{-1};
    std::atomic<int> busy_{0};  // changed under the mutex
    std::atomic<int> attending_{0};  // helpers that stay awake
    std::atomic<int> beckoned_{0};   // helpers that were told to expect a call; changed under the mutex
    std::atomic<unsigned long> news_{0};  // counts jobs and calls for attention; changed under the mutex
};

// Keeps helpers awake for many small jobs, one soon after the other.
class Attention {
   public:
    explicit Attention(int n_threads)
        : pool_(Pool::of_this_process()), held_(n_threads > 1 && pool_.attend(n_threads - 1)) {}
    Attention(const Attention&) = delete;
    Attention& operator=(const Attention&) = delete;
    ~Attention() {
        if (held_) pool_.dismiss();
    }

   private:
    Pool& pool_;
    bool held_;
};

// A thread alone, or with others of the pool.
struct Team {
    int n_threads;

    // body(first, last) for [0, n): all at once, or in parts if so many numbers are worth it.
    template <class Body>
    void share(std::ptrdiff_t n, std::ptrdiff_t n_numbers, const Body& body) const {
        const std::ptrdiff_t most = n_numbers < MANY ? 1 : 2 * std::ptrdiff_t(n_threads), parts = most < n ? most : n;
        if (n_threads == 1 || parts <= 1) return body(0, n);
        Pool::of_this_process().run(parts, n_threads, [&](std::ptrdiff_t part, int) {
            body(n * part / parts, n * (part + 1) / parts);
        });
    }

   private:
    static constexpr std::ptrdiff_t MANY = 5000;
};

}  // namespace fwk
