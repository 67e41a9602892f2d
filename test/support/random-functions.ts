/**
 * Random functions of scalars in JavaScript's syntax, from a seed: statements, branches, loops that depend on
 * data, local functions and arrays. Each is printed twice: as it is, and with every operation rounded to
 * float32, as a reference of what a function gives in that dtype.
 */
import { generator } from './random.js';

export interface RandomFunction {
  readonly text: string;
  /** The same with `F(…)` around each operation. */
  readonly rounded: string;
}

/**
 * Which operations are drawn: `floats`: those that IEEE arithmetic rounds correctly; `singles`: those, of arrays
 * alone, since constants are computed in float64; `words`: bitwise ones, too, without quotients, which would show
 * that integers have no negative zero; `integers`: those that are exact for integers, so that a device may
 * contract products and sums. Functions of `singles` have a third parameter, which is 0.
 */
export type Operations = 'floats' | 'singles' | 'words' | 'integers';

/** An expression printed both ways. */
interface Printed {
  readonly plain: string;
  readonly rounded: string;
}

const printed = (plain: string, rounded = plain): Printed => ({ plain, rounded });

/** `contracts`: products and sums may be rounded once, as on a GPU: products of floats are by powers of two, and exact. */
export function randomFunction(
  seed: number,
  operations: Operations,
  loops: boolean,
  contracts = false,
): RandomFunction {
  return new Writer(seed, operations, loops, contracts).write();
}

class Writer {
  readonly #next: () => number;
  readonly #operations: Operations;
  readonly #loops: boolean;
  readonly #contracts: boolean;
  readonly #plain: string[] = [];
  readonly #rounded: string[] = [];
  #names = ['x', 'y'];
  #depth = 1;
  #made = 0;
  #inLoop = false;

  constructor(seed: number, operations: Operations, loops: boolean, contracts: boolean) {
    this.#next = generator(seed);
    this.#operations = operations;
    this.#loops = loops;
    this.#contracts = contracts;
  }

  write(): RandomFunction {
    this.#line('(x, y, zero) => {');
    this.#declare();
    if (this.#below(3) === 0) this.#function();
    const count = 2 + this.#below(4);
    for (let k = 0; k < count; k++) this.#statement(2);
    const result = this.#value(2);
    this.#line(`return ${result.plain};`, `return ${result.rounded};`);
    this.#depth = 0;
    this.#line('}');
    return { text: this.#plain.join('\n'), rounded: this.#rounded.join('\n') };
  }

  #below(n: number): number {
    return Math.floor(this.#next() * n);
  }

  #pick<T>(list: readonly T[]): T {
    return list[this.#below(list.length)]!;
  }

  #line(plain: string, rounded = plain): void {
    const indent = '  '.repeat(plain === '(x, y, zero) => {' ? 0 : this.#depth);
    this.#plain.push(indent + plain);
    this.#rounded.push(indent + rounded);
  }

  /** Lines in braces, whose variables end with them. */
  #block(head: string, tail: string, write: () => void, rounded = head): void {
    this.#line(`${head} {`, `${rounded} {`);
    const names = [...this.#names];
    this.#depth++;
    write();
    this.#depth--;
    this.#names = names;
    this.#line(`}${tail}`);
  }

  // ---------------------------------------------------------------- statements

  #declare(): void {
    const name = `v${this.#made++}`;
    const value = this.#value(2);
    this.#line(`let ${name} = ${value.plain};`, `let ${name} = ${value.rounded};`);
    this.#names.push(name);
  }

  #function(): void {
    const name = `f${this.#made++}`;
    const names = this.#names;
    this.#names = ['s'];
    const value = this.#value(2);
    this.#names = names;
    this.#line(`const ${name} = (s) => ${value.plain};`, `const ${name} = (s) => ${value.rounded};`);
    const arg = this.#value(1);
    const result = `r${this.#made++}`;
    this.#line(`let ${result} = ${name}(${arg.plain});`, `let ${result} = ${name}(${arg.rounded});`);
    this.#names.push(result);
  }

  #statement(depth: number): void {
    const kind = this.#below(this.#loops && depth > 0 ? 10 : 7);
    if (depth > 0 && kind === 0) this.#if(depth);
    else if (depth > 0 && kind === 6) this.#switch(depth);
    else if (kind === 1 && this.#below(2) === 0) this.#leave();
    else if (kind === 2) this.#declare();
    else if (kind === 3 && depth > 0) this.#shortLoop(depth);
    else if (kind > 6) this.#loop(depth);
    else this.#assign();
  }

  #assign(): void {
    const targets = this.#names.filter((name) => /^[vrxy]/.test(name));
    const name = this.#pick(targets);
    const value = this.#value(2);
    if (this.#below(3) === 0) {
      const operator = this.#pick(['+', '-']);
      const plain = `${name} ${operator}= ${value.plain};`;
      const rounded = `${name} = F(${name} ${operator} ${value.rounded});`;
      this.#line(this.#operations === 'integers' ? `${plain} ${name} %= 8191;` : plain, rounded);
    } else this.#line(`${name} = ${value.plain};`, `${name} = ${value.rounded};`);
  }

  #if(depth: number): void {
    const condition = this.#condition(2);
    const body = (): void => {
      this.#statement(depth - 1);
      if (this.#below(3) === 0) this.#leave();
    };
    const hasElse = this.#below(2) === 0;
    this.#block(`if (${condition.plain})`, hasElse ? ' else {' : '', body, `if (${condition.rounded})`);
    if (!hasElse) return;
    this.#depth++;
    const names = [...this.#names];
    this.#statement(depth - 1);
    this.#names = names;
    this.#depth--;
    this.#line('}');
  }

  /** Cases of small integers, of which some fall through. */
  #switch(depth: number): void {
    const value = this.#value(1);
    const around = this.#inLoop;
    this.#block(
      `switch (Math.round(${value.plain}))`,
      '',
      () => {
        const count = 1 + this.#below(4);
        const other = this.#below(count + 1);
        for (let k = 0; k < count; k++) {
          this.#line(k === other ? 'default:' : `case ${k - 1}:`);
          const names = [...this.#names];
          this.#statement(depth - 1);
          this.#names = names;
          if (this.#below(3) > 0) this.#line('break;');
        }
      },
      `switch (F(Math.round(${value.rounded})))`,
    );
    this.#inLoop = around;
  }

  /** Leaves the function, the loop or the step under a condition. */
  #leave(): void {
    const condition = this.#condition(1);
    const kind = this.#inLoop ? this.#below(3) : 2;
    const value = this.#value(1);
    const [plain, rounded] =
      kind === 0
        ? ['break', 'break']
        : kind === 1
          ? ['continue', 'continue']
          : [`return ${value.plain}`, `return ${value.rounded}`];
    this.#line(`if (${condition.plain}) ${plain};`, `if (${condition.rounded}) ${rounded};`);
  }

  #shortLoop(depth: number): void {
    const name = `k${this.#made++}`;
    const around = this.#inLoop;
    this.#inLoop = false;
    this.#block(`for (let ${name} = 0; ${name} < ${1 + this.#below(3)}; ${name}++)`, '', () => {
      this.#names.push(name);
      this.#assignOrIf(depth);
    });
    this.#inLoop = around;
  }

  #assignOrIf(depth: number): void {
    if (this.#below(3) === 0) this.#if(depth - 1);
    else this.#assign();
  }

  #loop(depth: number): void {
    const name = `n${this.#made++}`;
    const condition = this.#condition(1);
    const most = 1 + this.#below(9);
    const around = this.#inLoop;
    this.#inLoop = true;
    const body = (): void => {
      this.#names.push(name);
      for (let k = 0; k <= this.#below(3); k++) this.#statement(depth - 1);
    };
    const kind = this.#below(3);
    if (kind === 0) {
      const [head, rounded] = [condition.plain, condition.rounded].map(
        (test) => `for (let ${name} = 0; ${name} < ${most} && ${test}; ${name}++)`,
      );
      this.#block(head!, '', body, rounded);
    } else {
      this.#line(`let ${name} = 0;`);
      const tests = [condition.plain, condition.rounded].map((test) => `${name}++ < ${most} && (${test})`);
      if (kind === 1) this.#block(`while (${tests[0]})`, '', body, `while (${tests[1]})`);
      else {
        this.#block('do', '', body);
        const [plain, rounded] = tests.map((test) => `while (${test});`);
        this.#line(plain!, rounded);
      }
    }
    this.#inLoop = around;
  }

  // ---------------------------------------------------------------- expressions

  #condition(depth: number): Printed {
    const kind = depth > 0 ? this.#below(6) : 0;
    if (kind === 4 || kind === 5) {
      const [a, b] = [this.#condition(depth - 1), this.#condition(depth - 1)];
      const operator = kind === 4 ? '&&' : '||';
      return printed(`(${a.plain} ${operator} ${b.plain})`, `(${a.rounded} ${operator} ${b.rounded})`);
    }
    if (kind === 3) {
      const a = this.#condition(depth - 1);
      return printed(`!${a.plain}`, `!${a.rounded}`);
    }
    const operator = this.#pick(['<', '<=', '>', '>=', '===', '!==']);
    const [a, b] = [this.#value(1), this.#value(1)];
    return printed(`(${a.plain} ${operator} ${b.plain})`, `(${a.rounded} ${operator} ${b.rounded})`);
  }

  #value(depth: number): Printed {
    if (depth === 0 || this.#below(4) === 0) return this.#leaf();
    const kind = this.#below(10);
    if (kind < 5) return this.#binary(depth);
    if (kind === 5) {
      const [c, a, b] = [this.#condition(1), this.#value(depth - 1), this.#value(depth - 1)];
      return printed(
        `(${c.plain} ? ${a.plain} : ${b.plain})`,
        `(${c.rounded} ? ${a.rounded} : ${b.rounded})`,
      );
    }
    if (kind === 6) return this.#element(depth);
    if (kind === 7) {
      const a = this.#value(depth - 1);
      return printed(`-(${a.plain})`, `-(${a.rounded})`);
    }
    return this.#call(depth);
  }

  #leaf(): Printed {
    const isSingle = this.#operations === 'singles';
    const strong = (text: string): Printed => printed(isSingle ? `(${text} + zero)` : text);
    if (this.#below(3) > 0) {
      const name = this.#pick(this.#names);
      if (!/^[kn]/.test(name)) return printed(name);
      // Counters are integers, whose negative zero a quotient would show.
      return this.#operations === 'floats' ? printed(`(${name} + zero)`) : strong(name);
    }
    const isWhole = this.#operations === 'integers' || this.#below(2) === 0;
    const value = isWhole ? this.#below(9) - 4 : Math.round((this.#next() - 0.5) * 64) / 16;
    return strong(value < 0 ? `(${value})` : `${value}`);
  }

  #binary(depth: number): Printed {
    const [a, drawn] = [this.#value(depth - 1), this.#value(depth - 1)];
    const isWhole = this.#operations === 'integers';
    const hasWords = isWhole || this.#operations === 'words';
    if (hasWords && this.#below(5) === 0) {
      const operator = this.#pick(['&', '|', '^', '<<', '>>', '>>>']);
      const word = `(${a.plain} ${operator} ${drawn.plain})`;
      // Unsigned words have products that float64 rounds.
      return printed(isWhole ? `(${word} % 8191)` : word);
    }
    const operator = this.#pick(hasWords ? ['+', '-', '*', '%'] : ['+', '-', '*', '/', '%']);
    const isExact = this.#contracts && !isWhole && operator === '*';
    const b = isExact ? printed(this.#pick(['0.5', '2', '(-2)', '0.25'])) : drawn;
    // Small, so that integers stay exact.
    const tail = isWhole && operator !== '%' ? ' % 8191' : '';
    return printed(
      `(${tail === '' ? '' : '('}${a.plain} ${operator} ${b.plain})${tail}${tail === '' ? '' : ')'}`,
      `F(${a.rounded} ${operator} ${b.rounded})`,
    );
  }

  #element(depth: number): Printed {
    const values = [0, 1, 2].map(() => this.#value(depth - 1));
    const place = this.#below(3);
    const list = (part: keyof Printed): string =>
      `[${values.map((value) => value[part]).join(', ')}][${place}]`;
    return printed(list('plain'), list('rounded'));
  }

  #call(depth: number): Printed {
    const a = this.#value(depth - 1);
    const isWhole = this.#operations === 'integers';
    const name = this.#pick([
      'abs',
      'floor',
      'ceil',
      'trunc',
      'round',
      'sign',
      'max',
      'min',
      ...(isWhole ? [] : ['sqrt']),
    ]);
    if (name !== 'max' && name !== 'min')
      return printed(`Math.${name}(${a.plain})`, `F(Math.${name}(${a.rounded}))`);
    const b = this.#value(depth - 1);
    // Zeros of either sign are equal: which one is the larger is left open.
    return printed(
      `(Math.${name}(${a.plain}, ${b.plain}) + 0)`,
      `(Math.${name}(${a.rounded}, ${b.rounded}) + 0)`,
    );
  }
}
