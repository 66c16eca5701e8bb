// The threads of this process. Between calls they sleep; tasks are taken one by one, so that a busy
// neighbor costs one task and not a share of all. No OpenMP: libgomp breaks in forked children,
// clashes with other copies in the process and collapses when a core is contended
// (benchmarks/bench_contention.py).
#pragma once
#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <functional>
#include <mutex>
#include <system_error>
#include <thread>

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
    using Body = std::function<void(std::ptrdiff_t task, int worker)>;

    // The pool of this process; a forked child gets a new one, since the threads of its parent are
    // not there.
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
    // 0; worker < n_threads. If the system gives no more threads, those that are there do the work.
    // A second caller at the same time does its tasks alone.
    void run(std::ptrdiff_t n_tasks, int n_threads, const Body& body) {
        std::unique_lock<std::mutex> alone(one_caller_, std::try_to_lock);
        const int n_helpers = int(std::min<std::ptrdiff_t>(n_threads, n_tasks)) - 1;
        if (n_helpers < 1 || !alone.owns_lock() || Clock::now() < alone_until_) {
            for (std::ptrdiff_t task = 0; task < n_tasks; ++task) body(task, 0);
            return;
        }
        {
            const std::lock_guard<std::mutex> lock(mutex_);
            while (n_workers_ < n_helpers && start_worker()) continue;
            job_ = {&body, n_tasks, n_helpers};
            next_.store(0, std::memory_order_relaxed);
            ++n_jobs_;
        }
        wake_.notify_all();
        const auto begin = Clock::now();
        work(job_, 0);
        const auto end = Clock::now();
        std::unique_lock<std::mutex> lock(mutex_);
        job_.n_helpers = 0;  // workers that have not woken yet are not needed any more
        done_.wait(lock, [this] { return busy_ == 0; });
        // others keep a helper from working: for as long again nobody waits for one
        const auto waited = Clock::now() - end;
        if (waited > std::max<Clock::duration>(PATIENCE, end - begin))
            alone_until_ = end + 2 * waited;
    }

   private:
    using Clock = std::chrono::steady_clock;
    struct Job {
        const Body* body = nullptr;
        std::ptrdiff_t n_tasks = 0;
        int n_helpers = 0;
    };

    void work(const Job& job, int worker) {
        for (;;) {
            const std::ptrdiff_t task = next_.fetch_add(1, std::memory_order_relaxed);
            if (task >= job.n_tasks) return;
            (*job.body)(task, worker);
        }
    }

    // Starts the next worker, if the system has a thread for it; mutex_ is locked.
    bool start_worker() {
        const int worker = n_workers_ + 1;
        try {
            std::thread([this, worker] { serve(worker); }).detach();
        } catch (const std::system_error&) {
            return false;
        }
        n_workers_ = worker;
        return true;
    }

    // Sleeps until there is a job for this worker; ends when there was none for a while.
    void serve(int worker) {
        unsigned long seen = 0;
        std::unique_lock<std::mutex> lock(mutex_);
        for (;;) {
            const auto asked = [&] { return n_jobs_ != seen && worker <= job_.n_helpers; };
            if (!wake_.wait_for(lock, IDLE, asked)) {
                if (worker < n_workers_) continue;  // the last one ends first
                --n_workers_;
                return;
            }
            seen = n_jobs_;
            const Job job = job_;
            ++busy_;
            lock.unlock();
            work(job, worker);
            lock.lock();
            if (--busy_ == 0) done_.notify_one();
        }
    }

    static constexpr std::chrono::milliseconds IDLE{1000};
    static constexpr std::chrono::microseconds PATIENCE{300};
    std::mutex one_caller_, mutex_;  // the second protects what follows
    std::condition_variable wake_, done_;
    Clock::time_point alone_until_{};  // changed by the one caller
    Job job_;
    std::atomic<std::ptrdiff_t> next_{0};  // task
    int n_workers_ = 0, busy_ = 0;
    unsigned long n_jobs_ = 0;
};

}  // namespace fwk
