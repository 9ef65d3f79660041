/** A disruption waits for the activities of others. */
export const protectedReason = 'Protected';
