#pragma once

// The few things so hot that they have to be inlined: a cycle counter and the pause of a spin loop. The build
// chooses the twin by defining SLUICE_PLATFORM_PORTABLE for the whole project, or not; this is the only place
// that asks.

#ifdef SLUICE_PLATFORM_PORTABLE
#include "platform/portable/cpu.hpp"
#else
#include "platform/linux/cpu.hpp"
#endif
