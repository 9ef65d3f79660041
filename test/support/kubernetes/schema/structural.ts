/** What a schema must be to be taken into a CustomResourceDefinition: structural, with defaults that fit. */
import { fieldError, type FieldError } from '../errors.ts';
import { isSame } from '../objects.ts';
import { CelProblem, checkRule, evaluateRules, isTransitionRule } from './rules.ts';
import { prune, withDefaults } from './prune.ts';
import { joined, type Schema } from './schema.ts';
import { pattern, validate } from './validate.ts';

export function structuralErrors(schema: Schema, path: string): readonly FieldError[] {
  const errors: FieldError[] = [];
  if (schema.type !== 'object') {
    errors.push(
      fieldError('FieldValueInvalid', `${path}.type`, 'must be object at the root', schema.type ?? ''),
    );
  }
  for (const [name, ofMetadata] of Object.entries(schema.properties?.['metadata']?.properties ?? {})) {
    if (name !== 'name' && name !== 'generateName' && ofMetadata) {
      errors.push(
        fieldError(
          'FieldValueForbidden',
          `${path}.properties[metadata]`,
          'must not specify anything other than name and generateName, but metadata is implicitly specified',
        ),
      );
    }
  }
  checkNode(schema, path, errors, true);
  return errors;
}

/** `isCorrelatable`: whether an old value can be found for this part, or is lost in a list without keys. */
function checkNode(schema: Schema, path: string, errors: FieldError[], isCorrelatable: boolean): void {
  checkShape(schema, path, errors);
  checkForbidden(schema, path, errors);
  checkListType(schema, path, errors);
  checkDefault(schema, path, errors);
  checkRules(schema, path, errors, isCorrelatable);
  for (const [name, ofField] of Object.entries(schema.properties ?? {})) {
    checkNode(ofField, `${path}.properties[${name}]`, errors, isCorrelatable);
  }
  if (typeof schema.additionalProperties === 'object') {
    checkNode(schema.additionalProperties, `${path}.additionalProperties`, errors, isCorrelatable);
  }
  const hasKeys = schema['x-kubernetes-list-type'] === 'map';
  if (schema.items) checkNode(schema.items, `${path}.items`, errors, isCorrelatable && hasKeys);
  for (const [part, at] of combined(schema, path)) checkCombined(part, schema, at, errors);
}

const types = new Set(['object', 'array', 'string', 'integer', 'number', 'boolean']);

function checkShape(schema: Schema, path: string, errors: FieldError[]): void {
  const isIntOrString = schema['x-kubernetes-int-or-string'] === true;
  const isFree = schema['x-kubernetes-preserve-unknown-fields'] === true;
  if (schema.type === undefined && !isIntOrString && !isFree) {
    errors.push(
      fieldError('FieldValueRequired', `${path}.type`, 'must not be empty for specified object fields'),
    );
  }
  if (schema.type !== undefined && !types.has(schema.type)) {
    const supported = [...types].map((type) => JSON.stringify(type)).join(', ');
    errors.push(
      fieldError('FieldValueNotSupported', `${path}.type`, `supported values: ${supported}`, schema.type),
    );
  }
  if (schema.type !== undefined && isIntOrString) {
    const detail = 'must be empty if x-kubernetes-int-or-string is true';
    errors.push(fieldError('FieldValueInvalid', `${path}.type`, detail, schema.type));
  }
  if (schema.properties && schema.additionalProperties !== undefined) {
    const detail = 'additionalProperties and properties are mutual exclusive';
    errors.push(fieldError('FieldValueForbidden', `${path}.additionalProperties`, detail));
  }
  if (schema.additionalProperties === false) {
    errors.push(
      fieldError(
        'FieldValueForbidden',
        `${path}.additionalProperties`,
        'additionalProperties cannot be set to false',
      ),
    );
  }
  if (schema.type === 'array' && !schema.items && !isFree) {
    errors.push(fieldError('FieldValueRequired', `${path}.items`, 'must be specified'));
  }
  if (schema.pattern !== undefined) {
    try {
      pattern(schema.pattern);
    } catch (error) {
      const detail = `must be a valid regular expression, but isn't: ${(error as Error).message}`;
      errors.push(fieldError('FieldValueInvalid', `${path}.pattern`, detail, schema.pattern));
    }
  }
}

const forbidden = [
  '$ref',
  'definitions',
  'dependencies',
  'deprecated',
  'discriminator',
  'id',
  'patternProperties',
  'readOnly',
  'writeOnly',
  'xml',
  'const',
  'contains',
  'if',
  'propertyNames',
];

function checkForbidden(schema: Schema, path: string, errors: FieldError[]): void {
  const fields: Readonly<Record<string, unknown>> = { ...schema };
  for (const name of forbidden) {
    if (fields[name] !== undefined)
      errors.push(fieldError('FieldValueForbidden', `${path}.${name}`, `${name} is not supported`));
  }
  if (fields['uniqueItems'] === true) {
    errors.push(
      fieldError(
        'FieldValueForbidden',
        `${path}.uniqueItems`,
        'uniqueItems cannot be set to true since the runtime complexity becomes quadratic',
      ),
    );
  }
}

function checkListType(schema: Schema, path: string, errors: FieldError[]): void {
  const listType = schema['x-kubernetes-list-type'];
  const keys = schema['x-kubernetes-list-map-keys'];
  const at = `${path}.x-kubernetes-list-type`;
  if (listType !== undefined && schema.type !== 'array') {
    errors.push(
      fieldError(
        'FieldValueInvalid',
        `${path}.type`,
        'must be array if x-kubernetes-list-type is specified',
        schema.type ?? '',
      ),
    );
  }
  if (listType === 'set' && schema.items && !isScalarOrAtomic(schema.items)) {
    errors.push(
      fieldError(
        'FieldValueInvalid',
        at,
        'items must be scalars, or atomic objects or lists, in a list of type set',
        listType,
      ),
    );
  }
  if (keys && listType !== 'map') {
    errors.push(
      fieldError(
        'FieldValueInvalid',
        at,
        'must be map if x-kubernetes-list-map-keys is non-empty',
        listType ?? '',
      ),
    );
  }
  if (listType !== 'map') return;
  if (!keys?.length) {
    errors.push(
      fieldError(
        'FieldValueRequired',
        `${path}.x-kubernetes-list-map-keys`,
        'must not be empty if x-kubernetes-list-type is map',
      ),
    );
  }
  if (schema.items?.type !== 'object') {
    errors.push(
      fieldError(
        'FieldValueInvalid',
        `${path}.items.type`,
        "must be object if parent array's x-kubernetes-list-type is map",
        schema.items?.type ?? '',
      ),
    );
  }
  for (const key of keys ?? []) {
    const ofKey = schema.items?.properties?.[key];
    const required = schema.items?.required?.includes(key) === true;
    if (!ofKey) {
      errors.push(
        fieldError(
          'FieldValueInvalid',
          `${path}.x-kubernetes-list-map-keys`,
          'entries must all be names of item properties',
          key,
        ),
      );
    } else if (!required && ofKey.default === undefined) {
      errors.push(
        fieldError(
          'FieldValueRequired',
          `${path}.items.properties[${key}].default`,
          'this property is in x-kubernetes-list-map-keys, so it must have a default or be a required property',
        ),
      );
    }
  }
}

function isScalarOrAtomic(schema: Schema): boolean {
  if (schema.type === 'object') return schema['x-kubernetes-map-type'] === 'atomic';
  if (schema.type === 'array') return (schema['x-kubernetes-list-type'] ?? 'atomic') === 'atomic';
  return true;
}

function checkDefault(schema: Schema, path: string, errors: FieldError[]): void {
  if (schema.default === undefined) return;
  const at = `${path}.default`;
  const { value, unknown } = prune(
    { value: schema.default },
    { type: 'object', properties: { value: schema } },
  );
  if (unknown.length > 0) {
    errors.push(fieldError('FieldValueInvalid', at, 'must not have unknown fields', schema.default));
  }
  const field = (value as { value: unknown }).value;
  if (!isSame(field, schema.default)) return;
  errors.push(...validate(withDefaults(field, schema), schema, at));
  // Rules judge it as it is written: what its fields have as defaults is not filled in.
  errors.push(...evaluateRules(field, schema, at));
}

function checkRules(schema: Schema, path: string, errors: FieldError[], isCorrelatable: boolean): void {
  const rules = schema['x-kubernetes-validations'] ?? [];
  for (const [index, rule] of rules.entries()) {
    const at = `${path}.x-kubernetes-validations[${index}]`;
    if (!rule.rule) {
      errors.push(fieldError('FieldValueRequired', `${at}.rule`, 'rule is not specified'));
      continue;
    }
    if (isTransitionRule(rule) && !isCorrelatable) {
      const detail = 'oldSelf cannot be used on the uncorrelatable portion of the schema';
      errors.push(fieldError('FieldValueInvalid', `${at}.rule`, detail, rule.rule));
    }
    try {
      checkRule(rule, schema, path.endsWith('openAPIV3Schema'));
    } catch (error) {
      if (!(error instanceof CelProblem)) throw error;
      errors.push(fieldError('FieldValueInvalid', `${at}.${error.field}`, error.message, error.expression));
    }
  }
}

function combined(schema: Schema, path: string): readonly (readonly [Schema, string])[] {
  const parts: (readonly [Schema, string])[] = [];
  for (const name of ['allOf', 'anyOf', 'oneOf'] as const) {
    for (const [index, part] of (schema[name] ?? []).entries())
      parts.push([part, `${path}.${name}[${index}]`]);
  }
  if (schema.not) parts.push([schema.not, `${path}.not`]);
  return parts;
}

const structural = [
  'description',
  'default',
  'additionalProperties',
  'nullable',
  'title',
  'type',
  'x-kubernetes-preserve-unknown-fields',
  'x-kubernetes-validations',
] as const;

/** Inside of a combination there are assertions only, of fields whose structure is told outside. */
function checkCombined(part: Schema, outer: Schema, path: string, errors: FieldError[]): void {
  const isIntOrString = outer['x-kubernetes-int-or-string'] === true;
  for (const name of structural) {
    if (part[name] === undefined || (name === 'type' && isIntOrString)) continue;
    const detail = name === 'type' ? 'must be empty to be structural' : 'must be undefined to be structural';
    errors.push(fieldError('FieldValueForbidden', `${path}.${name}`, detail));
  }
  for (const [name, ofField] of Object.entries(part.properties ?? {})) {
    const outside = outer.properties?.[name];
    if (outside) checkCombined(ofField, outside, `${path}.properties[${name}]`, errors);
    else
      errors.push(
        fieldError(
          'FieldValueRequired',
          joined(path, name, part),
          'because it is defined in a combination, it must be specified outside as well',
        ),
      );
  }
  if (part.items && outer.items) checkCombined(part.items, outer.items, `${path}.items`, errors);
  for (const [inner, at] of combined(part, path)) checkCombined(inner, outer, at, errors);
}
