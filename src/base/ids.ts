const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

export function isUuid(id: string): boolean {
  return uuid.test(id);
}

/** A UUID in lower case, since upper and lower case are the same id; any other id as it is. */
export function canonicalId(id: string): string {
  return isUuid(id) ? id.toLowerCase() : id;
}
