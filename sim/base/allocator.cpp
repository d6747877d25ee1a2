// What jemalloc, which the programs are linked with, reads when it starts. A simulation fills tens of megabytes once and
// ends: large pages save it the faults, and memory given back to the system would only be asked for again.
extern "C" {
extern const char* malloc_conf;
const char* malloc_conf = "thp:always,narenas:1,dirty_decay_ms:-1,muzzy_decay_ms:-1";
}
