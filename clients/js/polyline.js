// The polyline encoding of lines, https://developers.google.com/maps/documentation/utilities/polylinealgorithm

/** The scale of the coordinates of routes, which have six decimals. */
const ROUTE = 1e6;
/** The number of groups of five bits in the difference of two coordinates. */
const MAXIMUM_GROUPS = 6;

/** Returns the coordinates of a polyline, in pairs, in the order in which they were encoded; undefined for a damaged text. */
export function coordinatesOf(text, scale) {
  const values = [];
  let [value, groups] = [0, 0];
  for (let at = 0; at < text.length; at += 1) {
    const letter = text.charCodeAt(at) - 63;
    if (!(letter >= 0 && letter <= 63) || groups === MAXIMUM_GROUPS) return undefined;
    value |= (letter & 0x1f) << (5 * groups);
    groups += 1;
    if (letter >= 0x20) continue;
    const step = value & 1 ? ~(value >> 1) : value >> 1;
    values.push(step + (values.length < 2 ? 0 : values.at(-2)));
    [value, groups] = [0, 0];
  }
  return groups === 0 ? values.map((one) => one / scale) : undefined;
}

/** Returns the points [latitude, longitude] of a route; undefined for a damaged text and for more points than `limit`. */
export function pointsOf(text, limit = Infinity) {
  const values = coordinatesOf(text, ROUTE);
  if (!values || values.length % 2 !== 0 || values.length / 2 > limit) return undefined;
  const points = Array.from({ length: values.length / 2 }, (_, i) => [values[2 * i], values[2 * i + 1]]);
  return points.every(([latitude, longitude]) => Math.abs(latitude) <= 90 && Math.abs(longitude) <= 180) ? points : undefined;
}

/** Returns the places {lat, lng} of a route; none if the text is damaged. */
export const routeOf = (text) => (pointsOf(text) ?? []).map(([lat, lng]) => ({ lat, lng }));
