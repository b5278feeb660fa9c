public import Foundation
public import ObjectVault
/// temp
public enum Migrations { 
  /// x
  public static let set: MigrationSet = { do { return try MigrationSet.directory(URL(fileURLWithPath: "/work/main/Migrations")) } catch { print(error); exit(1) } }() }
