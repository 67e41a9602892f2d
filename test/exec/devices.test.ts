import { describe, expect, it } from 'vitest';
import { CPU, deviceFrom, gpu } from '../../src/exec/targets/device.js';
import { chooseDevice } from '../../src/exec/targets/devices.js';
import { ArgumentError, DeviceError } from '../../src/host/errors.js';

const deviceName = (text: unknown): string => deviceFrom('compute', text).name;

describe('device names', () => {
  it('are completed: cuda is the first GPU', () => {
    expect(['cpu', 'cuda', 'cuda:0', 'cuda:12'].map(deviceName)).toEqual([
      'cpu',
      'cuda:0',
      'cuda:0',
      'cuda:12',
    ]);
  });

  it('are refused where they name no device', () => {
    for (const name of ['', 'gpu', 'cpu:0', 'cuda:', 'cuda:-1', 'cuda:1.5', 'CUDA', 'cuda:0 ']) {
      expect(() => deviceName(name), name).toThrow(DeviceError);
    }
    for (const value of [0, null, {}, ['cpu']]) expect(() => deviceName(value)).toThrow(ArgumentError);
  });
});

describe('choosing a device', () => {
  it('takes the one that is named', () => {
    expect(chooseDevice('cpu', new Set())).toEqual({ device: CPU, reason: 'named by the caller' });
  });

  it('takes the one that holds an input', () => {
    expect(chooseDevice(undefined, new Set([gpu(3)])).device).toBe(gpu(3));
  });

  it('refuses a GPU that cannot be used, and never takes another device instead', () => {
    expect(() => chooseDevice('cuda:99', new Set())).toThrow(/device 'cuda:99' cannot be used/);
  });

  it('refuses inputs on several devices, or on another than the one named', () => {
    expect(() => chooseDevice(undefined, new Set([CPU, gpu(0)]))).toThrow(DeviceError);
    expect(() => chooseDevice('cpu', new Set([gpu(0)]))).toThrow(/an array on 'cuda:0'/);
  });
});
