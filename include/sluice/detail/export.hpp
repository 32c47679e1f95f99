#pragma once

// What leaves the library. It is built with hidden visibility, so a function that users call carries SLUICE_API.
// In a static library the macro is empty: a shared object that embeds Sluice must not export it in turn.

#if defined(_MSC_VER) ? _MSVC_LANG <= 202002L : __cplusplus <= 202002L
#error "Sluice needs C++23: compile with -std=c++23 (or /std:c++latest)"
#endif

#if defined(SLUICE_STATIC)
#define SLUICE_API
#elif defined(_WIN32) && defined(SLUICE_BUILDING)
#define SLUICE_API __declspec(dllexport)
#elif defined(_WIN32)
#define SLUICE_API __declspec(dllimport)
#else
#define SLUICE_API __attribute__((visibility("default")))
#endif
