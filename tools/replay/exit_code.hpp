// How the program ends. The same table is in --help and in docs/guide/replay.md; tests/replay compares them.
#pragma once

namespace sluice::replay {

enum class ExitCode : int {
    ok = 0,
    usage = 1,          ///< the command line was not understood, or the report cannot be written
    input = 2,          ///< the trace is missing, empty, or (under --strict) malformed
    broken = 3,         ///< a job was lost, ran twice, or broke its actor's order: a bug of the library
    executor = 4,       ///< the executor could not be started, or failed jobs for a reason of its own
    interrupted = 130,  ///< a signal ended the run early; the report says what ran
};

}  // namespace sluice::replay
