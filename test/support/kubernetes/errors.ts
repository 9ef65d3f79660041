/** The refusals of a Kubernetes API: `Status` objects with the codes, reasons and sentences of the real one. */
import type { Kind } from './kinds.ts';

interface Cause {
  readonly reason: string;
  readonly message: string;
  readonly field?: string;
}

interface Details {
  readonly name?: string;
  readonly group?: string;
  readonly kind?: string;
  readonly uid?: string;
  readonly causes?: readonly Cause[];
  readonly retryAfterSeconds?: number;
}

export interface Refusal {
  readonly code: number;
  /** Empty for errors that the server did not foresee. */
  readonly reason: string;
  readonly message: string;
  readonly details?: Details;
  /** `metadata.continue`: where an expired list can go on, inconsistently. */
  readonly continueToken?: string;
}

export class ApiError extends Error {
  readonly refusal: Refusal;

  constructor(refusal: Refusal) {
    super(refusal.message);
    this.refusal = refusal;
  }

  status(): object {
    const { code, reason, message, details, continueToken } = this.refusal;
    const metadata = continueToken === undefined ? {} : { continue: continueToken };
    return {
      kind: 'Status',
      apiVersion: 'v1',
      metadata,
      status: 'Failure',
      message,
      ...(reason && { reason }),
      ...(details && { details }),
      code,
    };
  }
}

/** One thing that is wrong with an object: `field: type: detail`. */
export interface FieldError {
  readonly reason:
    | 'FieldValueInvalid'
    | 'FieldValueRequired'
    | 'FieldValueNotSupported'
    | 'FieldValueForbidden'
    | 'FieldValueDuplicate'
    | 'FieldValueTooLong'
    | 'FieldValueTooMany'
    | 'FieldValueTypeInvalid';
  readonly field: string;
  readonly message: string;
}

export function fieldError(
  reason: FieldError['reason'],
  field: string,
  detail: string,
  value?: unknown,
): FieldError {
  const shown =
    value === undefined ? '' : `: ${typeof value === 'string' ? JSON.stringify(value) : shownValue(value)}`;
  return { reason, field, message: `${words[reason]}${shown}${detail && `: ${detail}`}` };
}

const words: Readonly<Record<FieldError['reason'], string>> = {
  FieldValueInvalid: 'Invalid value',
  FieldValueRequired: 'Required value',
  FieldValueNotSupported: 'Unsupported value',
  FieldValueForbidden: 'Forbidden',
  FieldValueDuplicate: 'Duplicate value',
  FieldValueTooLong: 'Too long',
  FieldValueTooMany: 'Too many',
  FieldValueTypeInvalid: 'Invalid value',
};

function shownValue(value: unknown): string {
  if (value === null) return '"null"';
  return JSON.stringify(value);
}

/** `containerservices.fleetkeeper.dev`, `secrets`. */
export function qualified(kind: Pick<Kind, 'group' | 'plural'>): string {
  return kind.group ? `${kind.plural}.${kind.group}` : kind.plural;
}

export function notFound(kind: Kind, name: string): ApiError {
  return new ApiError({
    code: 404,
    reason: 'NotFound',
    message: `${qualified(kind)} "${name}" not found`,
    details: about(kind, name),
  });
}

export function noSuchPath(): ApiError {
  return new ApiError({
    code: 404,
    reason: 'NotFound',
    message: 'the server could not find the requested resource',
    details: {},
  });
}

export function alreadyExists(kind: Kind, name: string): ApiError {
  return new ApiError({
    code: 409,
    reason: 'AlreadyExists',
    message: `${qualified(kind)} "${name}" already exists`,
    details: about(kind, name),
  });
}

export function conflict(
  kind: Kind,
  name: string,
  why = 'the object has been modified; please apply your changes to the latest version and try again',
): ApiError {
  return new ApiError({
    code: 409,
    reason: 'Conflict',
    message: `Operation cannot be fulfilled on ${qualified(kind)} "${name}": ${why}`,
    details: about(kind, name),
  });
}

export function invalid(kind: Kind, name: string, errors: readonly FieldError[]): ApiError {
  const sentences = errors.map(({ field, message }) => `${field}: ${message}`);
  const qualifiedKind = kind.group ? `${kind.kind}.${kind.group}` : kind.kind;
  const all = sentences.length === 1 ? sentences[0] : `[${sentences.join(', ')}]`;
  return new ApiError({
    code: 422,
    reason: 'Invalid',
    message: `${qualifiedKind} "${name}" is invalid: ${all}`,
    details: { name, ...(kind.group && { group: kind.group }), kind: kind.kind, causes: [...errors] },
  });
}

export function forbidden(kind: Kind, name: string, why: string, causes?: readonly Cause[]): ApiError {
  const subject = name ? `${qualified(kind)} "${name}"` : qualified(kind);
  return new ApiError({
    code: 403,
    reason: 'Forbidden',
    message: `${subject} is forbidden: ${why}`,
    details: { ...about(kind, name), ...(causes && { causes }) },
  });
}

export function badRequest(message: string): ApiError {
  return new ApiError({ code: 400, reason: 'BadRequest', message });
}

export function unauthorized(): ApiError {
  return new ApiError({ code: 401, reason: 'Unauthorized', message: 'Unauthorized' });
}

export function methodNotAllowed(): ApiError {
  return new ApiError({
    code: 405,
    reason: 'MethodNotAllowed',
    message: 'the server does not allow this method on the requested resource',
    details: {},
  });
}

export function unsupportedMediaType(accepted: readonly string[]): ApiError {
  return new ApiError({
    code: 415,
    reason: 'UnsupportedMediaType',
    message: `the body of the request was in an unknown format - accepted media types include: ${accepted.join(', ')}`,
  });
}

export function tooLarge(): ApiError {
  return new ApiError({
    code: 413,
    reason: 'RequestEntityTooLarge',
    message: 'Request entity too large: limit is 3145728',
    details: {},
  });
}

export function expired(message: string, continueToken?: string): ApiError {
  return new ApiError({
    code: 410,
    reason: 'Expired',
    message,
    ...(continueToken !== undefined && { continueToken }),
  });
}

export function about(kind: Kind, name: string): Details {
  return { ...(name && { name }), ...(kind.group && { group: kind.group }), kind: kind.plural };
}
