/** Forms in which tools write calls and functions: `(0, f)(x)` for an import, `__name(f, "f")` for a function. */
import type { CallExpression, Expression, Super } from 'acorn';

/** The function that is called, without `(0, f)`. */
export function calleeOf(callee: Expression | Super): Expression | Super {
  if (callee.type !== 'SequenceExpression') return callee;
  const [first, second] = callee.expressions;
  return callee.expressions.length === 2 && first!.type === 'Literal' ? second! : callee;
}

/** The function in `__name(f, "f")`; undefined for other calls. */
export function namedFunction({ callee, arguments: [wrapped] }: CallExpression): Expression | undefined {
  if (callee.type !== 'Identifier' || callee.name !== '__name') return undefined;
  return wrapped === undefined || wrapped.type === 'SpreadElement' ? undefined : wrapped;
}
