/**
 * A reporter of the slowest tests of a run, and of the time that each project's files take to be imported and
 * to run: where the minutes of CI go. `vitest.config.ts` adds it where `CI` is set.
 */
import type { Reporter, TestModule } from 'vitest/node';

const seconds = (milliseconds: number): string => `${(milliseconds / 1000).toFixed(1).padStart(7)} s`;

export class SlowestTests implements Reporter {
  readonly #count: number;

  constructor(count: number) {
    this.#count = count;
  }

  onTestRunEnd(modules: readonly TestModule[]): void {
    const tests = modules.flatMap((module) =>
      [...module.children.allTests()].map((test) => ({
        milliseconds: test.diagnostic()?.duration ?? 0,
        name: `${module.project.name} ${module.relativeModuleId} > ${test.fullName}`,
      })),
    );
    const slowest = tests.sort((a, b) => b.milliseconds - a.milliseconds).slice(0, this.#count);
    const lines = slowest.map(({ milliseconds, name }) => `${seconds(milliseconds)}  ${name}`);
    console.log([`The ${slowest.length} slowest tests:`, ...lines, ...projects(modules), ''].join('\n'));
  }
}

/** A line for each project: the wall times of its files, added up. */
function projects(modules: readonly TestModule[]): string[] {
  const names = [...new Set(modules.map(({ project }) => project.name))];
  return names.map((name) => {
    const times = modules.filter(({ project }) => project.name === name).map((each) => each.diagnostic());
    const sum = (of: (each: (typeof times)[number]) => number): string =>
      seconds(times.reduce((total, each) => total + of(each), 0)).trim();
    const imports = sum((each) => each.collectDuration + each.setupDuration);
    return `project ${name}: ${times.length} files, imported in ${imports}, tests ${sum(({ duration }) => duration)}`;
  });
}
