/** Checks that an addon runs where its package is installed: on its processor, with nothing but the C library. */
import { statSync } from 'node:fs';
import { readElf } from './elf.mjs';
import { GLIBC, PLATFORMS } from './platforms.mjs';

/** Node looks for these by name. */
const EXPORTS = ['napi_register_module_v1', 'node_api_module_get_api_version_v1'];

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

/** Throws an error that names all that is wrong with an addon; gives its row of the table of packages. */
export function checkAddon(name, path, { isLocal }) {
  const { machine, needs } = PLATFORMS[name];
  const elf = readElf(path);
  const { size } = statSync(path);
  const glibc = glibcOf(elf);
  const extra = elf.exported.filter((symbol) => !EXPORTS.includes(symbol));
  const foreign = elf.needed.filter((library) => !needs.includes(library));
  const problems = [
    elf.machine !== machine && `it is for processor ${elf.machine} of ELF's list, not ${machine}`,
    EXPORTS.some((symbol) => !elf.exported.includes(symbol)) && `it does not export ${EXPORTS.join(' and ')}`,
    extra.length > 0 && `it exports ${extra.length} symbols more: ${extra.slice(0, 5).join(', ')}`,
    foreign.length > 0 && `it needs ${foreign.join(', ')}`,
    // Those of a build for this machine alone are as they are.
    !isLocal &&
      glibc !== undefined &&
      isLater(glibc, GLIBC) &&
      `it needs glibc ${glibc}, later than ${GLIBC}`,
    !isLocal && elf.hasSymbolTable && 'it is not stripped',
    size > MOST_BYTES && `it has ${size} bytes, more than ${MOST_BYTES}`,
  ].filter((problem) => problem !== false);
  if (problems.length > 0) throw new Error(`${path}, the addon of ${name}: ${problems.join('; ')}`);
  return { bytes: size, needed: elf.needed, glibc };
}
