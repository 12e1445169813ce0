// Costs as everywhere: with two decimals, or more if they are small.

export function dollars(cost) {
  if (!cost) return cost === null ? "unknown" : "free";
  const most = cost >= .1 ? 2 : cost >= .001 ? 4 : 6;
  return cost.toLocaleString("en", { style: "currency", currency: "USD", minimumFractionDigits: 2, maximumFractionDigits: most });
}
