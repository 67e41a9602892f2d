/**
 * Variables found in syntax: those that a part of a function assigns, which a loop carries from step to step, and
 * those of `var`, which are the whole function's.
 */
import type { AnyNode } from 'acorn';

/** Names that are assigned in some syntax nodes; a name that is declared there, too, may be among them. */
export function assignedNames(nodes: readonly (AnyNode | null | undefined)[]): Set<string> {
  const names = new Set<string>();
  const visit = (value: unknown): void => {
    if (Array.isArray(value)) {
      for (const each of value) visit(each);
    } else if (typeof value === 'object' && value !== null && 'type' in value) {
      const node = value as AnyNode;
      if (node.type === 'AssignmentExpression') addTarget(node.left, names);
      if (node.type === 'UpdateExpression') addTarget(node.argument, names);
      for (const part of Object.values(node)) visit(part);
    }
  };
  for (const node of nodes) visit(node);
  return names;
}

function addTarget(target: AnyNode, names: Set<string>): void {
  if (target.type === 'Identifier') names.add(target.name);
  else if (target.type === 'MemberExpression') addTarget(target.object as AnyNode, names);
  else if (target.type === 'ArrayPattern')
    for (const each of target.elements) if (each !== null) addTarget(each, names);
}

/** The names that `var` declares in a function, outside of functions in it. */
export function hoistedNames(body: AnyNode): Set<string> {
  const names = new Set<string>();
  const visit = (value: unknown): void => {
    if (Array.isArray(value)) {
      for (const each of value) visit(each);
    } else if (typeof value === 'object' && value !== null && 'type' in value) {
      const node = value as AnyNode;
      if (/Function/.test(node.type)) return;
      if (node.type === 'VariableDeclaration' && node.kind === 'var')
        for (const { id } of node.declarations) addTarget(id, names);
      for (const part of Object.values(node)) visit(part);
    }
  };
  visit(body);
  return names;
}
