/** The platforms that there are packages of the addon for, and which of them a process runs on. */
import { closeSync, openSync, readSync } from 'node:fs';

/** As Node.js names the system and the processor, then the C library where there are several. */
export const PLATFORMS = [
  'linux-x64-gnu',
  'linux-arm64-gnu',
  'linux-x64-musl',
  'darwin-arm64',
  'darwin-x64',
] as const;

export type Platform = (typeof PLATFORMS)[number];

export const packageOf = (platform: Platform): string => `@weftjs/${platform}`;

/** The facts that identify a process's platform. */
export interface Host {
  readonly platform: string;
  readonly arch: string;
  /** The program that the process runs. */
  readonly execPath: string;
}

/** The name of a host's platform, whether there is a package for it or not. */
export function platformOf({ platform, arch, execPath }: Host): string {
  const name = `${platform}-${arch}`;
  return platform === 'linux' ? `${name}-${cLibraryOf(execPath)}` : name;
}

export const isPlatform = (name: string): name is Platform => (PLATFORMS as readonly string[]).includes(name);

/** Of a program of ELF: the header of a segment begins with its type. PT_INTERP names the dynamic loader. */
const PT_INTERP = 3;

/**
 * The C library that a program is linked with, by the name of its dynamic loader: `/lib/ld-musl-x86_64.so.1`
 * against `/lib64/ld-linux-x86-64.so.2`. A program that cannot be read counts as one of glibc.
 */
function cLibraryOf(program: string): 'gnu' | 'musl' {
  try {
    return loaderOf(program).includes('ld-musl') ? 'musl' : 'gnu';
  } catch {
    return 'gnu';
  }
}

function loaderOf(program: string): string {
  const file = openSync(program, 'r');
  try {
    const read = (byteLength: number, position: number): Buffer => {
      const bytes = Buffer.alloc(byteLength);
      readSync(file, bytes, 0, byteLength, position);
      return bytes;
    };
    const header = read(64, 0);
    const segmentBytes = header.readUInt16LE(54);
    const segments = read(segmentBytes * header.readUInt16LE(56), Number(header.readBigUInt64LE(32)));
    for (let at = 0; at < segments.length; at += segmentBytes) {
      if (segments.readUInt32LE(at) !== PT_INTERP) continue;
      const byteLength = Number(segments.readBigUInt64LE(at + 32));
      return read(byteLength, Number(segments.readBigUInt64LE(at + 8))).toString('latin1');
    }
    return '';
  } finally {
    closeSync(file);
  }
}
