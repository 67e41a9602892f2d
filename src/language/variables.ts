/**
 * The variables of a traced function, by name in the block that declares them.
 */

/** A declared variable. */
export class Variable {
  constructor(
    readonly name: string,
    readonly isConstant: boolean,
    /** Whether it is a parameter, whose elements are not assigned. */
    readonly isParameter = false,
  ) {}
}

/** The variables that are visible in a block. */
export class Scope {
  readonly #names = new Map<string, Variable>();
  constructor(readonly parent: Scope | undefined) {}

  declare(variable: Variable): Variable {
    this.#names.set(variable.name, variable);
    return variable;
  }

  find(name: string): Variable | undefined {
    return this.#names.get(name) ?? this.parent?.find(name);
  }

  has(name: string): boolean {
    return this.#names.has(name);
  }
}
