// Costs as everywhere: in whole cents.

export function dollars(cost) {
  if (!cost) return cost === null ? "unknown" : "free";
  return cost < .01 ? "under $0.01" : cost.toLocaleString("en", { style: "currency", currency: "USD" });
}
