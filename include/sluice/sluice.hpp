// Everything that Sluice offers, for those who do not mind the compile time.
#pragma once

#include <sluice/executor.hpp>
#include <sluice/version.hpp>
