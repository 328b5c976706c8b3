-- After record_if.lua or record_in_if.lua.
return 1
