/** The command that builds the addon where Weft is installed: for errors and `weft doctor`. */
import { existsSync } from 'node:fs';
import { dirname, join, sep } from 'node:path';

/** `weft build`, as each package manager starts a package's command. */
export const BUILD_COMMANDS = {
  npm: 'npx weft build',
  pnpm: 'pnpm exec weft build',
  yarn: 'yarn weft build',
  bun: 'bunx weft build',
} as const;

/** Files that a package manager leaves in a project. */
const TRACES: readonly [file: string, manager: keyof typeof BUILD_COMMANDS][] = [
  ['pnpm-lock.yaml', 'pnpm'],
  ['bun.lock', 'bun'],
  ['bun.lockb', 'bun'],
  ['yarn.lock', 'yarn'],
  ['package-lock.json', 'npm'],
];

/** A folder and those that it is in, from the inside out. */
function outwards(folder: string): string[] {
  const folders = [folder];
  for (let at = folder; at !== dirname(at); at = dirname(at)) folders.push(dirname(at));
  return folders;
}

/**
 * The command to give in `project` to build the addon of the package in `folder`. A project that does not
 * depend on Weft itself has no `weft` command, and is shown the file behind it.
 */
export function buildCommand(folder: string, project: string): string {
  const isInstalled = folder.split(sep).includes('node_modules');
  if (!isInstalled) return 'npm run build:native';
  const folders = outwards(project);
  const isPlugAndPlay = folders.some((at) => existsSync(join(at, '.pnp.cjs')));
  const hasCommand = folders.some((at) => existsSync(join(at, 'node_modules', '.bin', 'weft')));
  if (!hasCommand && !isPlugAndPlay) return `node ${join(folder, 'dist', 'src', 'cli.js')} build`;
  for (const at of folders) {
    const [, manager] = TRACES.find(([file]) => existsSync(join(at, file))) ?? [];
    if (manager !== undefined) return BUILD_COMMANDS[manager];
  }
  return BUILD_COMMANDS.npm;
}
