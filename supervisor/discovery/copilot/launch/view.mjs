// An object with some of its properties replaced.

/** A view of an object: reads each property when it is asked for, and gives what `replace(name, value)` makes of it.
 * The object may be frozen, of a class, and may change later. */
export function view(object, replace) {
  const get = (_target, name) => replace(name, object[name]);
  return new Proxy(
    {},
    {
      get,
      has: (_target, name) => name in object,
      ownKeys: () => Reflect.ownKeys(object),
      getPrototypeOf: () => Reflect.getPrototypeOf(object),
      getOwnPropertyDescriptor(target, name) {
        const own = Reflect.getOwnPropertyDescriptor(object, name);
        return own && { value: get(target, name), enumerable: own.enumerable, writable: true, configurable: true };
      },
    },
  );
}
