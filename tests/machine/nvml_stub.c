/* A stand-in for libnvidia-ml.so.1: it answers as the machine named in NVML_STUB would.
 * Built by nvml_stub.py; OLD leaves out what drivers before R510 lack. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { OK = 0, NOT_SUPPORTED = 3, NO_PERMISSION = 4, INSUFFICIENT_SIZE = 7, DRIVER_NOT_LOADED = 9, GPU_IS_LOST = 15,
       LIB_RM_VERSION_MISMATCH = 18, INVALID_ARGUMENT = 2, NOT_FOUND = 6 };

typedef struct { unsigned long long total, free, used; } memory_v1;
typedef struct { unsigned version; unsigned long long total, reserved, free, used; } memory_v2;
typedef struct { unsigned pid; unsigned long long used; unsigned gi, ci; } process;

#define TOTAL 102641958912ULL
#define RESERVED 660000000ULL
#define USED 4194304ULL

static int is(const char *name) { const char *stub = getenv("NVML_STUB"); return stub && strcmp(stub, name) == 0; }
static unsigned index_of(void *device) { return (unsigned)(size_t)device - 1; }
static int lost(void *device) { return is("lost") && index_of(device) == 1; }
static int gb10(void) { return is("gb10"); }

#define ALIVE(device) if (lost(device)) return GPU_IS_LOST
#define DISCRETE(device) ALIVE(device); if (gb10()) return NOT_SUPPORTED

int nvmlInitWithFlags(unsigned flags) {
  if (is("hang")) sleep(60);
  if (is("crash")) abort();
  if (is("mismatch")) return LIB_RM_VERSION_MISMATCH;
  if (is("no-driver")) return DRIVER_NOT_LOADED;
  return is("strange") ? 4711 : OK;
}
int nvmlInit_v2(void) { return nvmlInitWithFlags(0); }
int nvmlShutdown(void) { return OK; }
const char *nvmlErrorString(int code) { return "an error of the stub"; }
int nvmlSystemGetDriverVersion(char *text, unsigned size) { strncpy(text, gb10() ? "580.95.05" : "595.71.05", size); return OK; }
int nvmlSystemGetNVMLVersion(char *text, unsigned size) { strncpy(text, "13.580.95.05", size); return OK; }
int nvmlSystemGetCudaDriverVersion_v2(int *version) { *version = 13020; return OK; }
int nvmlDeviceGetCount_v2(unsigned *count) { *count = is("lost") || is("two") ? 2 : is("none") ? 0 : 1; return OK; }
int nvmlDeviceGetHandleByIndex_v2(unsigned index, void **device) {
  if (is("lost-early") && index == 0) return GPU_IS_LOST;
  *device = (void *)(size_t)(index + 1);
  return OK;
}
int nvmlDeviceGetName(void *d, char *text, unsigned size) {
  ALIVE(d);
  strncpy(text, gb10() ? "NVIDIA GB10" : "NVIDIA RTX PRO 6000 Blackwell Workstation Edition", size);
  return OK;
}
int nvmlDeviceGetCudaComputeCapability(void *d, int *major, int *minor) { ALIVE(d); *major = 12; *minor = gb10(); return OK; }
int nvmlDeviceGetMemoryInfo(void *d, memory_v1 *m) {
  DISCRETE(d);
  m->total = TOTAL; m->used = USED + RESERVED; m->free = TOTAL - m->used;
  return OK;
}
int nvmlDeviceGetPowerUsage(void *d, unsigned *mw) { ALIVE(d); *mw = gb10() ? 11170 : 24000; return OK; }
int nvmlDeviceGetTemperature(void *d, unsigned sensor, unsigned *c) { ALIVE(d); *c = 36; return OK; }
int nvmlDeviceGetClockInfo(void *d, unsigned type, unsigned *mhz) { ALIVE(d); *mhz = type == 1 ? 208 : 999; return OK; }
int nvmlDeviceGetUtilizationRates(void *d, unsigned *rates) { ALIVE(d); rates[0] = 96; rates[1] = 1; return OK; }
int nvmlDeviceGetPersistenceMode(void *d, unsigned *on) { ALIVE(d); *on = 1; return OK; }
int nvmlDeviceGetEccMode(void *d, unsigned *now, unsigned *pending) { DISCRETE(d); *now = 0; *pending = 1; return OK; }
int nvmlDeviceGetMigMode(void *d, unsigned *now, unsigned *pending) { DISCRETE(d); *now = *pending = is("mig"); return OK; }
int nvmlDeviceGetMaxMigDeviceCount(void *d, unsigned *count) { *count = 4; return OK; }
int nvmlDeviceGetMigDeviceHandleByIndex(void *d, unsigned index, void **mig) { *mig = d; return index < 2 ? OK : NOT_FOUND; }
int nvmlDeviceGetComputeMode(void *d, unsigned *mode) { ALIVE(d); *mode = is("mig") ? 3 : 0; return OK; }
int nvmlDeviceGetCurrPcieLinkGeneration(void *d, unsigned *n) { DISCRETE(d); *n = 1; return OK; }
int nvmlDeviceGetMaxPcieLinkGeneration(void *d, unsigned *n) { DISCRETE(d); *n = 5; return OK; }
int nvmlDeviceGetCurrPcieLinkWidth(void *d, unsigned *n) { DISCRETE(d); *n = 8; return OK; }
int nvmlDeviceGetMaxPcieLinkWidth(void *d, unsigned *n) { DISCRETE(d); *n = 16; return OK; }
int nvmlDeviceGetTopologyCommonAncestor(void *a, void *b, int *level) { *level = 40; return OK; }

static int list(unsigned *count, process *out, const process *all, unsigned n) {
  if (n == 0) { *count = 0; return OK; }
  if (*count < n) { *count = n; return INSUFFICIENT_SIZE; }
  memcpy(out, all, n * sizeof(process));
  *count = n;
  return OK;
}
int nvmlDeviceGetComputeRunningProcesses_v3(void *d, unsigned *count, process *out) {
  ALIVE(d);
  if (is("no-processes")) return NO_PERMISSION;
  process all[] = {{(unsigned)getppid(), 109342359552ULL, 0, 0}, {4194303, ~0ULL, 0, 0}};
  return list(count, out, all, is("two") ? 0 : 2);
}
int nvmlDeviceGetGraphicsRunningProcesses_v3(void *d, unsigned *count, process *out) {
  ALIVE(d);
  process all[] = {{(unsigned)getppid(), 1, 0, 0}, {1, 18000000, 0, 0}};
  return list(count, out, all, is("two") ? 0 : 2);
}

#ifndef OLD
int nvmlDeviceGetMemoryInfo_v2(void *d, memory_v2 *m) {
  DISCRETE(d);
  m->total = TOTAL; m->reserved = RESERVED; m->used = USED; m->free = TOTAL - USED - RESERVED;
  return OK;
}
int nvmlDeviceGetCurrentClocksEventReasons(void *d, unsigned long long *bits) { ALIVE(d); *bits = 0x1 | 0x4 | 0x40; return OK; }
#else
int nvmlDeviceGetCurrentClocksThrottleReasons(void *d, unsigned long long *bits) { ALIVE(d); *bits = 0x8; return OK; }
#endif
