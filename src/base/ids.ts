const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

export function isUuid(id: string): boolean {
  return uuid.test(id);
}

/** A UUID (RFC 9562, version 8) of the first 32 digits of a digest in hex. */
export function uuidOf(hex: string): string {
  return [
    hex.slice(0, 8),
    hex.slice(8, 12),
    `8${hex.slice(13, 16)}`,
    `8${hex.slice(17, 20)}`,
    hex.slice(20, 32),
  ].join('-');
}

/** A UUID in lower case, since upper and lower case are the same id; any other id as it is. */
export function canonicalId(id: string): string {
  return isUuid(id) ? id.toLowerCase() : id;
}
