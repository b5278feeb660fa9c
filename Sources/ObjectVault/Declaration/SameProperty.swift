// Whether a key path that begins at a class ends at the property of a class above it. Swift finds key paths equal when
// their classes and their parts are the same, and there is no path from the one class to the other. Behind a path that
// begins elsewhere and leads to either they are paths of one class, of which only the parts are left to differ: a
// computed property has another part than the property that it reads.

enum SameProperty {
  private final class Holder<Value> {
    let value: Value
    init(_ value: Value) { self.value = value }
  }

  /// - Parameters:
  ///   - path: Begins at a class, or at one below that of `property`.
  ///   - property: The key path of a property.
  static func holds(_ path: AnyKeyPath, _ property: AnyKeyPath) -> Bool {
    func isSame<Root>(_ root: Root.Type) -> Bool {
      func isSame<Value>(_ value: Value.Type) -> Bool {
        guard let property = property as? KeyPath<Root, Value>, type(of: path).valueType == Value.self else {
          return false
        }
        let holder = \Holder<Root>.value
        // Safe: it is never applied to anything. Key paths of all classes are objects of one layout, and what is put
        // together here is only compared.
        let address = unsafe Unmanaged.passUnretained(path).toOpaque()
        let other = unsafe Unmanaged<KeyPath<Root, Value>>.fromOpaque(address).takeUnretainedValue()
        return holder.appending(path: property) == holder.appending(path: other)
      }
      return _openExistential(type(of: property).valueType, do: isSame)
    }
    // The compiler opens types of protocols by itself, and these may be any.
    return _openExistential(type(of: property).rootType, do: isSame)
  }
}
