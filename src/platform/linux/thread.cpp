#include "platform/thread.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace sluice::platform {
namespace {

constexpr std::size_t longest_name = 15;  // the kernel keeps 16 bytes, the last one a zero

std::error_code system_error(int code) noexcept {
    return {code, std::system_category()};
}

// The kernel's struct sched_attr in its first version (48 bytes), which all kernels accept; later versions
// only append. Our own copy, because C libraries declare it since 2024 only, and kernel headers then collide
// with theirs.
struct SchedulingAttributes {
    std::uint32_t size = sizeof(SchedulingAttributes);
    std::uint32_t policy = 0;
    std::uint64_t flags = 0;
    std::int32_t nice = 0;
    std::uint32_t priority = 0;
    std::uint64_t runtime = 0;  // for SCHED_OTHER: the time slice in ns, since Linux 6.12
    std::uint64_t deadline = 0;
    std::uint64_t period = 0;
};
static_assert(sizeof(SchedulingAttributes) == 48);

bool read_attributes(SchedulingAttributes& attributes) noexcept {
    return ::syscall(SYS_sched_getattr, 0, &attributes, sizeof attributes, 0U) == 0;
}

}  // namespace

void set_thread_name(std::string_view name) noexcept {
    std::size_t length = std::min(name.size(), longest_name);
    constexpr auto continues_character = [](char c) {
        return (static_cast<unsigned char>(c) & 0xC0U) == 0x80U;
    };
    while (length < name.size() && length > 0 && continues_character(name[length])) {
        --length;
    }
    std::array<char, longest_name + 1> terminated{};
    std::ranges::copy(name.substr(0, length), terminated.begin());
    ::pthread_setname_np(::pthread_self(), terminated.data());
}

std::error_code set_affinity(std::span<const unsigned> cpus) noexcept {
    // 64 Ki CPUs are eight times what the kernel can be built for; the mask is 8 KiB of stack.
    constexpr unsigned most_cpus = 65'536;
    constexpr unsigned bits_per_word = 8 * sizeof(unsigned long);
    std::array<unsigned long, most_cpus / bits_per_word> mask{};
    if (cpus.empty()) {
        return system_error(EINVAL);
    }
    // Unknown CPUs: the kernel would drop them silently as long as one of the list exists.
    const long configured = ::sysconf(_SC_NPROCESSORS_CONF);
    for (const unsigned cpu : cpus) {
        if (cpu >= most_cpus || (configured > 0 && static_cast<long>(cpu) >= configured)) {
            return system_error(EINVAL);
        }
        mask[cpu / bits_per_word] |= 1UL << (cpu % bits_per_word);
    }
    if (::syscall(SYS_sched_setaffinity, 0, sizeof mask, mask.data()) != 0) {
        return system_error(errno);
    }
    return {};
}

bool set_short_time_slice(std::int64_t nanoseconds) noexcept {
    if (nanoseconds <= 0) {
        return false;
    }
    SchedulingAttributes attributes;
    if (!read_attributes(attributes) || attributes.policy != SCHED_OTHER) {
        return false;  // somebody chose a policy for this thread; it is not ours to change
    }
    const auto wanted = static_cast<std::uint64_t>(nanoseconds);
    attributes.runtime = wanted;
    // Reading filled in policy, nice value and flags, so writing them back changes the slice alone.
    if (::syscall(SYS_sched_setattr, 0, &attributes, 0U) != 0) {
        return false;
    }
    // Kernels that do not know slices ignore the field and read back as zero; those that do clamp it.
    SchedulingAttributes effective;
    return read_attributes(effective) && effective.runtime != 0 &&
           effective.runtime <= std::max(wanted, std::uint64_t{100'000});
}

void yield() noexcept {
    ::sched_yield();
}

// One page that the kernel zeroes in every child, whether it came from fork() or from a bare clone call,
// without a handler that has to be registered (and that a bare call would go round). It holds this process's
// number; a zero means that this is a new process, or the first call.
namespace {

constinit std::atomic<std::uint32_t> last_process_number{0};

std::atomic<std::uint32_t>* map_process_number() noexcept {
    const long page = ::sysconf(_SC_PAGESIZE);
    const auto size = static_cast<std::size_t>(page > 0 ? page : 4096);
    void* const memory = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) {
        return nullptr;
    }
    if (::madvise(memory, size, MADV_WIPEONFORK) != 0) {
        ::munmap(memory, size);
        return nullptr;
    }
    return new (memory) std::atomic<std::uint32_t>(0);
}

}  // namespace

std::uint32_t process_id() noexcept {
    static std::atomic<std::uint32_t>* const mine = map_process_number();
    if (mine == nullptr) {
        return static_cast<std::uint32_t>(::getpid());  // no such pages here: a system call each time
    }
    // Relaxed throughout: the number stands for nothing but itself.
    std::uint32_t number = mine->load(std::memory_order_relaxed);
    if (number == 0) [[unlikely]] {
        // The counter was copied from the parent, so one more is a number that no ancestor had. Two threads
        // of a fresh child may draw one each; the first to write decides.
        const std::uint32_t drawn = last_process_number.fetch_add(1, std::memory_order_relaxed) + 1;
        number = mine->compare_exchange_strong(number, drawn, std::memory_order_relaxed) ? drawn : number;
    }
    return number;
}

}  // namespace sluice::platform
