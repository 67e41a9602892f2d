// The process that the addon is loaded into: the library stays mapped until its end, because threads outlive
// the worker that loaded it, and a copy of the process that fork(2) makes is recognised.
#pragma once

namespace weft {

// Keeps the library mapped and watches for forks. Once for every environment, or more often.
void settleIntoProcess();

// Whether this process is a fork of the one that loaded the addon. It has none of its threads, locks may be
// held for ever, and no device works: nothing native may run, and nothing can be freed.
bool isForked();

// Throws a Failure in a fork.
void checkNotForked();

}  // namespace weft
