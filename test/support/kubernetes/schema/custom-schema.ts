/** What a CustomResourceDefinition asks of its objects: pruned, filled with defaults, validated, judged by its rules. */
import type { FieldError } from '../errors.ts';
import { isFields, type Fields } from '../objects.ts';
import { prune, withDefaults } from './prune.ts';
import { evaluateRules } from './rules.ts';
import type { Schema } from './schema.ts';
import { validate } from './validate.ts';

export class CustomSchema {
  readonly schema: Schema;

  constructor(schema: Schema) {
    this.schema = schema;
  }

  /** The object as it is stored, and the paths of the fields that the schema does not know. */
  accept(object: Fields): { readonly object: Fields; readonly unknown: readonly string[] } {
    const { value, unknown } = prune(object, this.schema);
    const filled = withDefaults(value, this.schema);
    return { object: isFields(filled) ? filled : {}, unknown };
  }

  /** On an update, with what was there before. */
  errors(object: Fields, old?: Fields): readonly FieldError[] {
    const errors = validate(
      withoutMetadata(object),
      withoutMetadataSchema(this.schema),
      '',
      old && withoutMetadata(old),
    );
    if (errors.length === 0) return evaluateRules(object, this.schema, '', old);
    const unchecked =
      'some validation rules were not checked because the object was invalid; correct the existing errors to complete validation';
    return hasRules(this.schema)
      ? [
          ...errors,
          { reason: 'FieldValueInvalid', field: '<nil>', message: `Invalid value: null: ${unchecked}` },
        ]
      : errors;
  }
}

/** Metadata is checked the same way for all kinds. */
function withoutMetadata({ metadata: _metadata, ...rest }: Fields): Fields {
  return rest;
}

function withoutMetadataSchema(schema: Schema): Schema {
  const { metadata: _metadata, ...properties } = schema.properties ?? {};
  return {
    ...schema,
    properties,
    ...(schema.required && { required: schema.required.filter((name) => name !== 'metadata') }),
  };
}

function hasRules(schema: Schema): boolean {
  return JSON.stringify(schema).includes('"x-kubernetes-validations"');
}
