/**
 * Random functions of loops around loops of integers, in JavaScript's syntax, from a seed: counters with limits that are
 * constants, arguments or counters around them, trial division, digits, greatest common divisors and powers. They end
 * for every argument `x` but a large one; `y` is in no limit.
 */
import { generator } from './random.js';

const INDENT = '  ';
const MOST_LOOPS = 4;

/** `dividesByZero`: divisors may be 0, of which integers give 0, and JavaScript NaN. */
export function randomIntegerLoops(seed: number, dividesByZero: boolean): string {
  return new Writer(seed, dividesByZero).write();
}

class Writer {
  readonly #next: () => number;
  readonly #lines: string[] = [];
  /** Variables that are read, those of them that only count, and those that are assigned. */
  #names = ['x', 'y', 's', 't'];
  #counters: string[] = [];
  #made = 0;
  #depth = 1;

  readonly #dividesByZero: boolean;

  constructor(seed: number, dividesByZero: boolean) {
    this.#next = generator(seed);
    this.#dividesByZero = dividesByZero;
  }

  write(): string {
    this.#lines.push('(x, y) => {');
    this.#line(`let s = ${this.#below(3)};`);
    this.#line(`let t = ${this.#pick(['0', '1', 'y', 'x'])};`);
    for (let k = 1 + this.#below(2); k > 0 && this.#made < MOST_LOOPS; k--) this.#loop(2);
    this.#line('return s + t;');
    this.#lines.push('}');
    return this.#lines.join('\n');
  }

  #below(n: number): number {
    return Math.floor(this.#next() * n);
  }

  #pick<T>(list: readonly T[]): T {
    return list[this.#below(list.length)]!;
  }

  #line(text: string): void {
    this.#lines.push(INDENT.repeat(this.#depth) + text);
  }

  #block(head: string, write: () => void): void {
    const [names, counters] = [this.#names, this.#counters];
    this.#names = [...names];
    this.#counters = [...counters];
    this.#line(`${head} {`);
    this.#depth++;
    write();
    this.#depth--;
    this.#line('}');
    [this.#names, this.#counters] = [names, counters];
  }

  #statements(depth: number): void {
    for (let k = 1 + this.#below(2); k > 0; k--) this.#assign();
    if (depth > 0 && this.#made < MOST_LOOPS) this.#loop(depth - 1);
    if (this.#below(2) === 0) this.#assign();
  }

  #assign(): void {
    const name = this.#pick(['s', 't']);
    const value = this.#value(2);
    // Sums stay small: those of int32 wrap, JavaScript's do not.
    const text = this.#pick([`${name} = (${name} + ${value}) % 8191;`, `${name} = ${value} % 8191;`]);
    this.#line(this.#below(3) === 0 ? `if (${this.#condition()}) ${text}` : text);
  }

  #loop(depth: number): void {
    const name = `i${this.#made++}`;
    const kind = this.#below(6);
    if (kind < 3) this.#count(name, depth);
    else if (kind === 3) this.#divide(name, depth);
    else if (kind === 4) this.#digits(name, depth);
    else this.#pairs(name);
  }

  /** A counter, up or down. */
  #count(name: string, depth: number): void {
    const limit = this.#pick(['x', 'x', `${2 + this.#below(9)}`, ...this.#counters]);
    const step = 1 + this.#below(2);
    const head = this.#pick([
      `for (let ${name} = ${this.#below(4) - 1}; ${name} ${this.#pick(['<', '<='])} ${limit}; ${name} += ${step})`,
      `for (let ${name} = ${limit}; ${name} > 0; ${name} -= ${step})`,
    ]);
    this.#block(head, () => {
      this.#names.push(name);
      this.#counters.push(name);
      this.#statements(depth);
    });
  }

  /** Divisors up to the root. */
  #divide(name: string, depth: number): void {
    const dividend = this.#pick(['x', ...this.#counters]);
    this.#block(`for (let ${name} = 2; ${name} * ${name} <= ${dividend}; ${name}++)`, () => {
      this.#names.push(name);
      this.#counters.push(name);
      if (this.#below(2) === 0) this.#line(`if (${dividend} % ${name} === 0) break;`);
      this.#statements(depth);
    });
  }

  /** The digits of a number. */
  #digits(name: string, depth: number): void {
    const base = 2 + this.#below(9);
    const first = this.#pick(['x', 'x * x', ...this.#counters.map((each) => `${each} * 37`)]);
    const next =
      base === 2 ? this.#pick([`${name} >> 1`, `Math.floor(${name} / 2)`]) : `Math.floor(${name} / ${base})`;
    this.#block(`for (let ${name} = ${first}; ${name} > 0; ${name} = ${next})`, () => {
      this.#names.push(name);
      this.#line(`s += ${name} % ${base};`);
      this.#statements(depth);
    });
  }

  /** A divisor of two numbers, or a power by squaring. */
  #pairs(name: string): void {
    const [a, b] = [`a${name}`, `b${name}`];
    const number = (): string => this.#pick(['x', `${1 + this.#below(60)}`, ...this.#counters]);
    this.#line(`let [${a}, ${b}] = [${number()}, ${number()}];`);
    if (this.#below(2) === 0) {
      this.#line(`while (${b} > 0) [${a}, ${b}] = [${b}, ${a} % ${b}];`);
      this.#line(`s += ${a};`);
      return;
    }
    const modulus = 3 + this.#below(200);
    this.#block(`while (${b} >= 1)`, () => {
      this.#line(`if (${b} & 1) t = (t * ${a}) % ${modulus};`);
      this.#line(`${a} = (${a} * ${a}) % ${modulus};`);
      this.#line(`${b} = Math.floor(${b} / 2);`);
    });
  }

  #condition(): string {
    const operator = this.#pick(['<', '<=', '>', '>=', '===', '!==']);
    return `${this.#value(1)} ${operator} ${this.#value(1)}`;
  }

  #value(depth: number): string {
    if (depth === 0 || this.#below(4) === 0)
      return this.#below(3) === 0 ? `${this.#below(12)}` : this.#pick(this.#names);
    const [a, b] = [this.#value(depth - 1), this.#value(depth - 1)];
    return this.#pick([
      `(${a} + ${b})`,
      `(${a} - ${b})`,
      `((${a} * ${b}) % 8191)`,
      this.#dividesByZero ? `(${a} % ${b})` : `(${a} % (Math.abs(${b}) + 1))`,
      `(${a} % ${1 + this.#below(20)})`,
      `Math.abs(${a})`,
      `Math.floor(${a} / ${1 + this.#below(9)})`,
      `(Math.max(${a}, ${b}) + 0)`,
      `(${a} & ${b})`,
      `(${a} ^ ${1 + this.#below(9)})`,
      `(${a} >> ${this.#below(4)})`,
    ]);
  }
}
