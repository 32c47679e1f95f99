#pragma once

// Which sanitizer this program is built with, for tests that do less under one, or cannot be done under it.
// g++ defines a macro, clang answers a question.

#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define SLUICE_TEST_UNDER_THREAD_SANITIZER 1
#endif
#if __has_feature(address_sanitizer)
#define SLUICE_TEST_UNDER_ADDRESS_SANITIZER 1
#endif
#endif
#if defined(__SANITIZE_THREAD__)
#define SLUICE_TEST_UNDER_THREAD_SANITIZER 1
#endif
#if defined(__SANITIZE_ADDRESS__)
#define SLUICE_TEST_UNDER_ADDRESS_SANITIZER 1
#endif

#ifndef SLUICE_TEST_UNDER_THREAD_SANITIZER
#define SLUICE_TEST_UNDER_THREAD_SANITIZER 0
#endif
#ifndef SLUICE_TEST_UNDER_ADDRESS_SANITIZER
#define SLUICE_TEST_UNDER_ADDRESS_SANITIZER 0
#endif
#define SLUICE_TEST_UNDER_SANITIZER \
    (SLUICE_TEST_UNDER_THREAD_SANITIZER || SLUICE_TEST_UNDER_ADDRESS_SANITIZER)

namespace sluice::test {

inline constexpr bool under_thread_sanitizer = SLUICE_TEST_UNDER_THREAD_SANITIZER != 0;
inline constexpr bool under_address_sanitizer = SLUICE_TEST_UNDER_ADDRESS_SANITIZER != 0;

inline constexpr bool under_sanitizer = under_thread_sanitizer || under_address_sanitizer;

}  // namespace sluice::test
