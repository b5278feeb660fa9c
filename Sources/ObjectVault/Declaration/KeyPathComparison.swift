// Compares a key path that begins at a class with the key path of a property of a superclass. In Swift, two
// key paths are equal only when both their root types and their components are equal, and a key path cannot
// be converted from one class to the other. So both are appended to one other key path. The two results have
// equal root types, and differ only if the components differ. The component of a computed property differs
// from that of the property that it reads.

enum KeyPathComparison {
  private final class Holder<Value> {
    let value: Value
    init(_ value: Value) { self.value = value }
  }

  /// Returns whether two key paths refer to the same property.
  /// - Parameters:
  ///   - path: Begins at the class of `property` or at a subclass.
  ///   - property: The key path of a property.
  static func holds(_ path: AnyKeyPath, for property: AnyKeyPath) -> Bool {
    func isSame<Root>(_ root: Root.Type) -> Bool {
      func isSame<Value>(_ value: Value.Type) -> Bool {
        guard let property = property as? KeyPath<Root, Value>, type(of: path).valueType == Value.self else {
          return false
        }
        let holder = \Holder<Root>.value
        // Safe: the key path is never applied. Key paths of all classes are objects with one layout, and
        // the composed paths are only compared.
        let address = unsafe Unmanaged.passUnretained(path).toOpaque()
        let other = unsafe Unmanaged<KeyPath<Root, Value>>.fromOpaque(address).takeUnretainedValue()
        return holder.appending(path: property) == holder.appending(path: other)
      }
      return _openExistential(type(of: property).valueType, do: isSame)
    }
    // Opened explicitly: the compiler opens only existentials of protocols, and these types may be of any
    // kind.
    return _openExistential(type(of: property).rootType, do: isSame)
  }
}
