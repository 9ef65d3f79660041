export const remediationReason = 'Remediation';
