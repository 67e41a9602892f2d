/** The commands of package managers where Weft is installed: for errors and `weft doctor`. */
import { existsSync } from 'node:fs';
import { dirname, join, sep } from 'node:path';

/** `weft build`, as each package manager starts a package's command. */
export const BUILD_COMMANDS = {
  npm: 'npx weft build',
  pnpm: 'pnpm exec weft build',
  yarn: 'yarn weft build',
  bun: 'bunx weft build',
} as const;

type Manager = keyof typeof BUILD_COMMANDS;

/**
 * Installs a project's packages anew, those for this machine among them. npm takes no optional package that its
 * lockfile does not name, and lockfiles that were made on another machine may have lost them (npm issue 4828).
 */
const INSTALL_COMMANDS: Readonly<Record<Manager, string>> = {
  npm: 'rm -rf node_modules package-lock.json && npm install --include=optional',
  pnpm: 'rm -rf node_modules && pnpm install',
  yarn: 'rm -rf node_modules && yarn install',
  bun: 'rm -rf node_modules && bun install',
};

/** Files that a package manager leaves in a project. */
const TRACES: readonly [file: string, manager: Manager][] = [
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

/** The package manager of a project: that of the innermost lockfile, else npm. */
function managerOf(project: string): Manager {
  for (const at of outwards(project)) {
    const [, manager] = TRACES.find(([file]) => existsSync(join(at, file))) ?? [];
    if (manager !== undefined) return manager;
  }
  return 'npm';
}

/** The command that installs the packages of `project` anew. */
export const installCommand = (project: string): string => INSTALL_COMMANDS[managerOf(project)];

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
  if (!hasCommand && !isPlugAndPlay) return `node ${join(folder, 'dist', 'weft', 'cli.js')} build`;
  return BUILD_COMMANDS[managerOf(project)];
}
