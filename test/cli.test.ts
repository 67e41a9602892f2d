/** The `weft` command as a user runs it: the built file, in a process of its own. */
import { spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { DoctorReport } from '../src/inspect/doctor.js';
import type { Finding } from '../src/inspect/finding.js';
import { SIM_FOLDER } from './sim/environment.js';

const CLI = join('dist', 'weft', 'cli.js');
const NO_CUDA = {
  WEFT_CUDA_DRIVER: '/no/libcuda.so.1',
  WEFT_NVRTC: '/no/libnvrtc.so',
  WEFT_CUBLAS: '/no/libcublas.so',
  WEFT_CUBLASLT: '/no/libcublasLt.so',
  WEFT_CUFFT: '/no/libcufft.so',
  WEFT_CUSOLVER: '/no/libcusolver.so',
  WEFT_CUDSS: '/no/libcudss.so',
};

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'weft-cli-'));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function weft(args: readonly string[], env: Readonly<Record<string, string>> = {}, cli = CLI) {
  const plain = Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('WEFT_')));
  return spawnSync(process.execPath, [cli, ...args], {
    encoding: 'utf8',
    env: { ...plain, WEFT_CACHE: join(folder, 'cache'), ...NO_CUDA, ...env },
  });
}

/** A tree in which the addon was not built. */
function unbuilt(name: string): string {
  const copy = join(folder, name);
  cpSync(join('dist', 'weft'), join(copy, 'dist', 'weft'), { recursive: true });
  for (const file of ['package.json', 'CMakeLists.txt']) cpSync(file, join(copy, file));
  symlinkSync(join(process.cwd(), 'node_modules'), join(copy, 'node_modules'));
  return copy;
}

const report = (stdout: string): DoctorReport => JSON.parse(stdout) as DoctorReport;
const finding = (stdout: string, name: string): Finding | undefined =>
  report(stdout).findings.find((found) => found.name === name);

describe('weft', () => {
  it('prints its version and its help', () => {
    const { version } = JSON.parse(readFileSync('package.json', 'utf8')) as { version: string };
    expect(weft(['--version'])).toMatchObject({ status: 0, stdout: `${version}\n` });
    const help = weft(['--help']);
    expect(help.status).toBe(0);
    expect(help.stdout).toContain('weft doctor [--json]');
  });

  it.each([[[]], [['doktor']], [['doctor', '--jsn']], [['doctor', 'now']], [['setup', '--warm']]])(
    'refuses the command line %j with the help',
    (args) => {
      const { status, stdout, stderr } = weft(args);
      expect({ status, stdout }).toEqual({ status: 2, stdout: '' });
      expect(stderr).toContain('usage: weft doctor');
    },
  );
});

describe('weft setup', () => {
  it('has nothing to do on a machine without a driver, and says so', () => {
    const { status, stdout } = weft(['setup']);
    expect(status).toBe(0);
    expect(stdout).toMatch(/-- NVIDIA driver +libcuda\.so\.1 was not found\n[\s\S]*-- NVRTC /);
    expect(stdout).toMatch(/\n {2}without an NVIDIA driver the CPU computes, which needs nothing more\n$/);
    expect(JSON.parse(weft(['setup', '--json']).stdout)).toMatchObject({ command: null });
  });

  it('without the addon says how to get that', () => {
    const copy = unbuilt('setup');
    const { status, stderr } = weft(['setup'], {}, join(copy, CLI));
    expect(status).toBe(1);
    expect(stderr).toMatch(/^weft: the native addon is not built \(run "npm run build:native"/);
  });
});

describe('weft doctor', () => {
  it('finds a CPU that works, without any CUDA, and says what that costs', () => {
    const { status, stdout } = weft(['doctor', '--json']);
    expect(status).toBe(0);
    expect(report(stdout)).toMatchObject({ cpuWorks: true, device: { name: 'cpu' } });
    expect(finding(stdout, 'CPU backend')).toMatchObject({
      status: 'found',
      value: expect.stringMatching(/^works: /),
    });
    for (const name of ['NVIDIA driver', 'NVRTC', 'cuBLAS']) {
      expect(finding(stdout, name)).toMatchObject({
        status: 'missing',
        cost: expect.stringMatching(/./),
        remedy: expect.stringMatching(/./),
        tried: [expect.stringContaining('/no/lib')],
      });
    }
  });

  it('uses libraries once where it is to warm them, and says how long that took', () => {
    const { status, stdout } = weft(['doctor', '--warm', '--json']);
    expect(status).toBe(0);
    for (const name of ['kernels', 'products', 'transforms', 'factors'])
      expect(finding(stdout, `cpu ${name}`)).toMatchObject({
        area: 'first use',
        status: 'found',
        value: expect.stringMatching(/^[\d.]+ ms, then [\d.]+ ms$/),
      });
  });

  it('prints the same for people', () => {
    const { status, stdout } = weft(['doctor']);
    expect(status).toBe(0);
    expect(stdout).toContain(
      'computes that name no device run on cpu (no usable GPU: no NVIDIA driver was found: /no/libcuda.so.1: no such file)',
    );
    expect(stdout).toMatch(/ok CPU backend +works: /);
    expect(stdout).toMatch(/-- cuBLAS +libcublas was not found\n +costs: /);
  });

  it('reports the settings in use', () => {
    const { stdout } = weft(['doctor', '--json'], {
      WEFT_THREADS: '1',
      WEFT_ISA: 'baseline',
      WEFT_CACHE: 'off',
      WEFT_LAPACK: `${SIM_FOLDER}/libweft-sim-lapack64.so`,
    });
    if (process.arch === 'x64') {
      expect(finding(stdout, 'CPU backend')!.value).toContain('baseline instructions, 1 of ');
      expect(finding(stdout, 'loops of elements')).toMatchObject({
        status: 'missing',
        value: 'interpreted: there is no code for baseline instructions',
      });
    }
    expect(finding(stdout, 'kernel cache')).toMatchObject({ status: 'missing', value: 'off' });
    expect(finding(stdout, 'linear algebra')!.value).toMatch(
      /lapack64\.so; Weft's own routines for sgeev, dgeev, cgeev, zgeev, which it lacks$/,
    );
  });

  it('reports a cache folder that cannot be used', () => {
    const file = join(folder, 'file');
    writeFileSync(file, '');
    const { status, stdout } = weft(['doctor', '--json'], { WEFT_CACHE: file });
    expect(status).toBe(0);
    expect(finding(stdout, 'kernel cache')).toMatchObject({
      status: 'broken',
      value: `${file} is not a folder`,
    });
  });

  it('reports a device that was set and cannot be used', () => {
    const { status, stdout } = weft(['doctor', '--json'], { WEFT_DEVICE: 'cuda' });
    expect(status).toBe(0);
    expect(report(stdout).device).toBeNull();
    expect(finding(stdout, 'WEFT_DEVICE')).toMatchObject({
      status: 'broken',
      value: expect.stringContaining('no NVIDIA driver was found'),
    });
  });

  it('fails on a setting that cannot be right, and names it', () => {
    const { status, stdout } = weft(['doctor', '--json'], { WEFT_THREADS: 'many' });
    expect(status).toBe(1);
    expect(finding(stdout, 'settings')!.value).toContain('WEFT_THREADS');
  });

  it('fails without the addon, and says how to build it', () => {
    const copy = unbuilt('doctor');
    const { status, stdout } = weft(['doctor', '--json'], {}, join(copy, CLI));
    expect(status).toBe(1);
    expect(report(stdout)).toMatchObject({ cpuWorks: false, device: null });
    expect(finding(stdout, 'Weft addon')).toMatchObject({
      status: 'missing',
      remedy: expect.stringContaining('npm run build:native'),
    });
  });
});
