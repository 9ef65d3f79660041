/** Columns of `kubectl get`, for the declarations of the kinds. */
import type { ConditionType } from './conditions.ts';

export interface Column {
  readonly name: string;
  readonly type: 'string' | 'integer' | 'number' | 'date';
  readonly jsonPath: string;
  readonly description: string;
  /** 1: with `-o wide` only. */
  readonly priority?: 1;
}

export function text(name: string, jsonPath: string, description: string): Column {
  return { name, type: 'string', jsonPath, description };
}

export function whole(name: string, jsonPath: string, description: string): Column {
  return { name, type: 'integer', jsonPath, description };
}

/** `date` columns are shown as an age. */
export function age(name: string, jsonPath: string, description: string): Column {
  return { name, type: 'date', jsonPath, description };
}

export function condition(name: string, type: ConditionType, description: string): Column {
  return text(name, `.status.conditions[?(@.type=="${type}")].status`, description);
}

export function wide(column: Column): Column {
  return { ...column, priority: 1 };
}

export const ready = condition('Ready', 'Ready', 'As declared, and usable.');
export const drift = condition('Drift', 'Drifted', 'Somebody else changed it.');
export const created = age('Age', '.metadata.creationTimestamp', 'Since the object was created.');
export const state = text('State', '.status.state', 'Its state.');
export const account = wide(text('Account', '.spec.accountRef.name', 'The Account that it lives in.'));
export const id = wide(text('ID', '.status.id', 'Its id at the provider.'));
export const reason = wide(
  text('Reason', '.status.conditions[?(@.type=="Ready")].reason', 'Why it is Ready or not.'),
);
export const inAccount = ['.spec.accountRef.name', '.status.id'];
