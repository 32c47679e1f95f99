// Everything that Sluice offers, for those who do not mind the compile time.
#pragma once

#include <sluice/bounded_pool.hpp>
#include <sluice/clock.hpp>
#include <sluice/executor.hpp>
#include <sluice/future.hpp>
#include <sluice/single_flight.hpp>
#include <sluice/turn_gate.hpp>
#include <sluice/version.hpp>
#include <sluice/when_all.hpp>
