/** As manifests/ has them. */
export const operatorFlags = ['--max-old-space-size=384', '--max-semi-space-size=16'];
