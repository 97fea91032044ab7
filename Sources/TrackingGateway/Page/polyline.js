// The polyline encoding of lines, https://developers.google.com/maps/documentation/utilities/polylinealgorithm

/** The scale of the coordinates of routes, which have six decimals. */
const ROUTE = 1e6;

/** Returns the coordinates of a polyline, in pairs, in the order in which they were encoded. */
export function coordinatesOf(text, scale) {
  const values = [];
  for (let at = 0; at < text.length;) {
    let [value, shift, letter] = [0, 0, 0];
    do {
      letter = text.charCodeAt(at) - 63;
      value |= (letter & 0x1f) << shift;
      at += 1;
      shift += 5;
    } while (letter >= 0x20 && at < text.length);
    const step = (value & 1 ? ~(value >> 1) : value >> 1) / scale;
    values.push(step + (values.length < 2 ? 0 : values.at(-2)));
  }
  return values;
}

/** Returns the places {lat, lng} of a route; none if the text is damaged. */
export function routeOf(text) {
  const values = coordinatesOf(text, ROUTE);
  const places = [];
  for (let i = 0; i + 1 < values.length; i += 2) places.push({ lat: values[i], lng: values[i + 1] });
  const isSound = values.length % 2 === 0 && places.every(({ lat, lng }) => Math.abs(lat) <= 90 && Math.abs(lng) <= 360);
  return isSound ? places : [];
}
