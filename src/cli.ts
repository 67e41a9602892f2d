#!/usr/bin/env node
/**
 * The `weft` command: `weft doctor`, `weft setup`, `weft build`, `weft --version`, `weft --help`. It prints what
 * `doctor.ts` and `setup.ts` find; `scripts/build-native.mjs` builds.
 */
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs, styleText } from 'node:util';
import { PACKAGE_FOLDER } from './host/package-folder.js';
import { type DoctorReport, examine, weftVersion } from './inspect/doctor.js';
import type { Finding, Status } from './inspect/finding.js';
import { examineSetup, type SetupReport } from './inspect/setup.js';

const HELP = `usage: weft doctor [--json]    what was found on this machine, and what is missing
       weft doctor --warm     multiplies, transforms and factors once on each device, so that the libraries are in memory for
                              whatever does next
       weft setup [--json]    the command that gets the CUDA libraries which are missing
       weft build             builds the addon from source, where no package manager did
       weft --version
       weft --help

weft doctor exits with 0 when computes run on the CPU, with 1 when they do not; weft setup when
nothing is to be done, with 1 when there is a command to run; weft build when the addon is built.`;

const MARKS: Readonly<Record<Status, { readonly mark: string; readonly color: 'green' | 'yellow' | 'red' }>> =
  {
    found: { mark: 'ok', color: 'green' },
    missing: { mark: '--', color: 'yellow' },
    broken: { mark: '!!', color: 'red' },
  };

const AREAS: readonly [Finding['area'], string][] = [
  ['runtime', 'Runtime'],
  ['cpu', 'CPU'],
  ['gpu', 'GPU'],
  ['cache', 'Cache'],
  ['first use', 'First use'],
];

const NAME_WIDTH = 20;
const INDENT = ' '.repeat(5 + NAME_WIDTH);

function findingLines({ name, status, value, cost, remedy, tried }: Finding): string[] {
  const { mark, color } = MARKS[status];
  const details = [
    cost && `costs: ${cost}`,
    remedy && `get it: ${remedy}`,
    ...(tried ?? []).map((t) => `tried: ${t}`),
  ];
  return [
    `  ${styleText(color, mark)} ${name.padEnd(NAME_WIDTH)}${value}`,
    ...details.filter((text) => text !== undefined).map((text) => `${INDENT}${text}`),
  ];
}

function reportText({ version, device, findings }: DoctorReport): string {
  const sections = AREAS.flatMap(([area, title]) => {
    const inArea = findings.filter((finding) => finding.area === area);
    return inArea.length === 0 ? [] : ['', styleText('bold', title), ...inArea.flatMap(findingLines)];
  });
  const used =
    device === null
      ? 'computes that name no device fail'
      : `computes that name no device run on ${device.name} (${device.reason})`;
  return [`Weft ${version}: ${used}`, ...sections].join('\n');
}

/** Runs a command; gives the exit code: 2 for a command line that cannot be understood. */
async function main(args: readonly string[]): Promise<number> {
  let command: string | undefined;
  let options: { help?: boolean; version?: boolean; json?: boolean; warm?: boolean };
  try {
    const { values, positionals } = parseArgs({
      args: [...args],
      allowPositionals: true,
      options: {
        help: { type: 'boolean', short: 'h' },
        version: { type: 'boolean', short: 'v' },
        json: { type: 'boolean' },
        warm: { type: 'boolean' },
      },
    });
    if (positionals.length > 1) throw new TypeError(`unexpected argument ${positionals[1]}`);
    [command] = positionals;
    if (values.warm && command !== 'doctor') throw new TypeError('--warm is of weft doctor alone');
    options = values;
  } catch (error) {
    console.error(`weft: ${error instanceof Error ? error.message : String(error)}\n${HELP}`);
    return 2;
  }
  if (options.version) return say(weftVersion());
  if (options.help) return say(HELP);
  if (command === 'build') return build();
  if (command === 'setup') return setup(options.json === true);
  if (command !== 'doctor') {
    console.error(command === undefined ? HELP : `weft: no command ${command}\n${HELP}`);
    return 2;
  }
  const report = await examine(options.warm === true);
  say(options.json ? JSON.stringify(report, undefined, 2) : reportText(report));
  return report.cpuWorks ? 0 : 1;
}

function setupText({ findings, command, note }: SetupReport): string {
  const lines = findings.flatMap(({ name, status, value }) =>
    findingLines({ area: 'gpu', name, status, value }),
  );
  return [...lines, '', command === null ? `  ${note}` : `  run: ${command}\n       (${note})`].join('\n');
}

/** Says what to run; gives 1 where there is something. */
async function setup(isJson: boolean): Promise<number> {
  try {
    const report = await examineSetup();
    say(isJson ? JSON.stringify(report, undefined, 2) : setupText(report));
    return report.command === null ? 0 : 1;
  } catch (error) {
    console.error(`weft: ${error instanceof Error ? error.message : String(error)}`);
    return 1;
  }
}

/** Builds the addon in place, where its sources are; gives the status. */
function build(): number {
  const script = join(PACKAGE_FOLDER, 'scripts/build-native.mjs');
  if (!existsSync(script)) {
    console.error(
      'weft: this package has no sources of the addon, which comes in a package for each platform',
    );
    return 1;
  }
  return spawnSync(process.execPath, [script], { stdio: 'inherit' }).status ?? 1;
}

function say(text: string): number {
  console.log(text);
  return 0;
}

process.exitCode = await main(process.argv.slice(2));
