/** The profiles of answers, each with what it does. */
export const profiles = [
  { value: "off", name: "Off", note: "As the API answers, byte for byte" },
  { value: "lossless", name: "Lossless", note: "Shorter, and nothing is left out" },
  { value: "concise", name: "Concise", note: "Without what agents do not need, such as null members, templates and addresses of the API" },
] as const;
