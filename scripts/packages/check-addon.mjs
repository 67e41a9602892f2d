/** Checks that an addon runs where its package is installed: on its processor, with nothing but the C library. */
import { statSync } from 'node:fs';
import { readElf } from './elf.mjs';
import { readMachO } from './mach-o.mjs';
import { PLATFORMS } from './platforms.mjs';

/** Node looks for these by name. */
const EXPORTS = ['napi_register_module_v1', 'node_api_module_get_api_version_v1'];

/**
 * Zig exports these from what it links for macOS, whatever their visibility: operators new and delete, and on x64 the
 * type of functions without arguments, of which each library has one.
 */
const SHARED_NAMES = /^_Z(?:n[wa]m|d[la]Pv|T[IS]P?FvvE$)/;

/** Names that the linker of macOS adds to every library. */
const MACH_O_NAMES = ['_mh_dylib_header', '__dso_handle'];

/** More than the largest addon takes; the loader maps all of it. */
const MOST_BYTES = 16 * 2 ** 20;

const isLater = (a, b) => a.localeCompare(b, 'en', { numeric: true }) > 0;

/** The latest version of glibc that symbols ask for, or undefined. */
export const glibcOf = ({ versions }) =>
  versions
    .map((version) => /^GLIBC_(.+)$/.exec(version)?.[1])
    .filter((version) => version !== undefined)
    .reduce(
      (latest, version) => (latest === undefined || isLater(version, latest) ? version : latest),
      undefined,
    );

/** Symbols, libraries and versions that a loader reads from an addon; `from`: the oldest C library or system that it runs on, in words. */
function readAddon(path, { system }) {
  if (system === 'Darwin') {
    const library = readMachO(path);
    const exported = library.exported.filter(
      (symbol) => !SHARED_NAMES.test(symbol) && !MACH_O_NAMES.includes(symbol),
    );
    return { ...library, exported, from: `macOS ${library.oldest}`, hasSymbolTable: false };
  }
  const library = readElf(path);
  const oldest = glibcOf(library);
  return { ...library, oldest, from: oldest === undefined ? '' : `glibc ${oldest}` };
}

/** Throws an error that names all that is wrong with an addon; gives its row of the table of packages. */
export function checkAddon(name, path, { isLocal }) {
  const platform = PLATFORMS[name];
  const addon = readAddon(path, platform);
  const { size } = statSync(path);
  const extra = addon.exported.filter((symbol) => !EXPORTS.includes(symbol));
  const foreign = addon.needed.filter((library) => !platform.needs.includes(library));
  const problems = [
    addon.machine !== platform.machine &&
      `it is for processor ${addon.machine} of the format's list, not ${platform.machine}`,
    EXPORTS.some((symbol) => !addon.exported.includes(symbol)) &&
      `it does not export ${EXPORTS.join(' and ')}`,
    extra.length > 0 && `it exports ${extra.length} symbols more: ${extra.slice(0, 5).join(', ')}`,
    foreign.length > 0 && `it needs ${foreign.join(', ')}`,
    // Those of a build for this machine alone are as they are.
    !isLocal &&
      addon.oldest !== undefined &&
      isLater(addon.oldest, platform.oldest) &&
      `it needs ${addon.from}, later than ${platform.oldest}`,
    !isLocal && addon.hasSymbolTable && 'it is not stripped',
    size > MOST_BYTES && `it has ${size} bytes, more than ${MOST_BYTES}`,
  ].filter((problem) => problem !== false);
  if (problems.length > 0) throw new Error(`${path}, the addon of ${name}: ${problems.join('; ')}`);
  return { bytes: size, needed: addon.needed, from: addon.from };
}
